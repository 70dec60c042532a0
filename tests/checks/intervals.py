"""Exact arithmetic on lists of half-open integer intervals: nothing shared with the program under test."""


def union(intervals):
    """Sorted disjoint intervals that cover the same points."""
    out = []
    for begin, end in sorted(i for i in intervals if i[1] > i[0]):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def length(disjoint):
    return sum(end - begin for begin, end in disjoint)


def minus(a, b):
    """What of a (disjoint, sorted) is not in b (disjoint, sorted)."""
    out, at = [], 0
    for begin, end in a:
        while at < len(b) and b[at][1] <= begin:
            at += 1
        i = at
        while i < len(b) and b[i][0] < end:
            if b[i][0] > begin:
                out.append([begin, b[i][0]])
            begin = max(begin, b[i][1])
            i += 1
        if begin < end:
            out.append([begin, end])
    return out


def clip(intervals, lo, hi):
    return [[max(b, lo), min(e, hi)] for b, e in intervals if b < hi and e > lo]
