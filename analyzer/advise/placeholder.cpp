namespace ws {}
