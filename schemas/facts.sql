-- The fact database: everything that is known of one analyzed run. A run.wsdb holds exactly these
-- tables; reports, rules, diffs and history need nothing else. Small (hundreds to thousands of
-- rows), documented, mailable, open to `sqlite3 run.wsdb`.
--
-- Conventions. Times are integer ns. Shares are REAL 0..1 of the mean steady step unless a comment
-- says otherwise, so that rules never divide. NULL means "not known"; 0 means "looked for and not
-- there". An open set (idle causes, kinds) is in long form with a row for every member that was
-- looked for. Columns whose comment says "one of: a b c" hold nothing else; rules are checked
-- against that list. Tables and columns are only ever added; PRAGMA user_version counts changes.
PRAGMA user_version = 19;

-- One row: the run as a whole and its verdict.
CREATE TABLE fact_run (
  id TEXT NOT NULL,                 -- hash of the inputs' names, sizes and spans; same input, same id
  tool_version TEXT NOT NULL,       -- version of wallsight that wrote this file
  rank_count INTEGER NOT NULL,      -- ranks analyzed
  device_count INTEGER NOT NULL,    -- (rank, device) pairs with device records
  world_size INTEGER,               -- ranks of the job; NULL: no file says
  single_rank_of_job INTEGER NOT NULL, -- 1: one rank of a job with several was recorded
  gpu TEXT,                         -- name of the GPU ("NVIDIA H100 80GB HBM3"); NULL: not recorded
  gpu_memory_bytes INTEGER,         -- capacity of one GPU, the smallest: as recorded, else of the board that its name tells
  platform TEXT,                    -- key of rules/platforms.json ("h100", "gb200", ...); NULL: unknown GPU
  framework TEXT,                   -- as names in the recording tell, Megatron Core as megatron_lm; one of: pytorch megatron_lm megatron_bridge; NULL: not told
  framework_by TEXT,                -- what tells it: a training program's own names, Megatron Core's (whatever is built on it), recorded operators among which Megatron's would stand, or kernels, above which anything may run; one of: program core operators kernels; NULL: not told
  step_origin TEXT NOT NULL,        -- one of: user_range profiler_step named_range megatron_ranges optimizer_burst kernel_period whole
  step_window TEXT NOT NULL,        -- one of: device host whole
  step_count INTEGER NOT NULL,      -- complete steps of the rank with most; 0: none found
  steady_count INTEGER NOT NULL,    -- of these, steps in the means
  step_mean_ns INTEGER,             -- mean steady step over devices, of the whole window where step_count is 0; NULL: no device record
  step_median_ns INTEGER,           -- median over (device, steady step)
  step_min_ns INTEGER,
  step_max_ns INTEGER,
  step_spread_share REAL,           -- (max - min) / median of steady steps
  critical_rank INTEGER,            -- rank with the longest mean step
  selection TEXT,                   -- what --step, --rank, --time selected, printable; NULL: everything
  verdict_kind TEXT NOT NULL,       -- one of: dominant mixed none insufficient
  loss TEXT,                        -- one of: useful memory communication imbalance bubble host; NULL: insufficient
  wall TEXT,                        -- one of: memory communication compute_host; NULL: insufficient
  cause TEXT NOT NULL,              -- one of: launch_bound host_sync input_pipeline gc_pause allocator recompute offload pageable_copy ep_all_to_all tp_collective dp_gradient dp_parameter cp_exchange pp_transfer comm_contention straggler_gpu straggler_host expert_imbalance pipeline_bubble membound_kernels gemm_bound attention_bound compute_bound only_warmup too_few_steps records_lost graph_level_trace peers_missing no_gpu_events unknown
  confidence TEXT NOT NULL,         -- one of: low medium high
  share_lo REAL, share_hi REAL,     -- interval of the verdict's loss, of the steady step
  price_lo REAL, price_hi REAL,     -- what removing the group gains by re-simulation; NULL: no graph
  also TEXT,                        -- second loss group of a mixed verdict; one of: useful memory communication imbalance bubble host
  also_cause TEXT,                  -- cause inside `also`, a value of `cause`
  where_ranks TEXT,                 -- guilty ranks "2" or "2,3"; NULL: everybody
  where_steps TEXT,                 -- guilty step names, comma separated; NULL: all steps
  compute_share REAL,               -- device busy with compute (gemm attention membound compute_other recompute)
  comm_exposed_share REAL,          -- every comm.* leaf
  copy_exposed_share REAL,          -- every copy.* leaf
  idle_share REAL,                  -- every idle.* leaf
  unknown_share REAL,               -- idle.unknown
  profiler_share REAL,              -- idle.profiler over ALL complete steps, steady or not
  latent_memory_wall INTEGER,       -- 1: memory is paid through choices (ALGORITHMS 4), 0: no sign; NULL: not judged
  comm_not_blocking_share REAL NOT NULL DEFAULT 0, -- of comm_exposed_share: no compute waits for it, hiding it gains nothing
  opaque_share REAL NOT NULL DEFAULT 0, -- inside CUDA graphs that were recorded as a whole
  linked_share REAL,                -- device records of the steps whose launch call is known; NULL: no device record
  other_accelerator INTEGER NOT NULL DEFAULT 0, -- 1: device records of an accelerator that is no GPU were seen and not read
  stage_max_over_mean REAL,         -- busiest pipeline stage, of their mean, as in fact_across; NULL: no stages, or not joined
  file_cut_off INTEGER NOT NULL DEFAULT 0, -- 1: a file ends in the middle: records of any step may stand behind the cut
  os TEXT,                          -- operating system of the recorded machine; one of: linux windows; NULL: not told
  inference INTEGER,                -- 1: names of serving or of a paged cache of keys and values were recorded, and none of a backward pass or an optimizer; NULL: no sign of it
  file_damaged INTEGER NOT NULL DEFAULT 0, -- 1: a file is damaged: records of any step may be missing or wrong
  times_out_of_range INTEGER NOT NULL DEFAULT 0, -- 1: records with impossible times were left out
  source_format TEXT,               -- of all input files; one of: nsys-sqlite kineto-json wallsight-recording; NULL: they differ
  lone_gpu INTEGER NOT NULL DEFAULT 0 -- 1: one GPU that never communicates in whole steps, and no sign of a job with more
) STRICT;

-- One row: configuration of the run as given or as the trace shows it. NULL: not known.
CREATE TABLE fact_config (
  framework_version TEXT,           -- as the user states it
  te_version TEXT, torch_version TEXT, -- of Transformer Engine and PyTorch, likewise
  core_release INTEGER,             -- of Megatron Core as stated, 100 x major + minor: 16 for 0.16, 19 for main and dev; NULL: none
  te_release INTEGER, torch_release INTEGER, -- likewise: 208 for 2.8
  tp INTEGER, pp INTEGER, vpp INTEGER, cp INTEGER, ep INTEGER, etp INTEGER, dp INTEGER, -- sizes of the parallel groups
  micro_batch INTEGER, global_batch INTEGER, seq_len INTEGER,
  moe_token_dispatcher_type TEXT,   -- one of: allgather alltoall flex
  moe_flex_dispatcher_backend TEXT, -- one of: deepep hybridep ncclep
  overlap_moe_expert_parallel_comm INTEGER, -- 0 or 1
  overlap_grad_reduce INTEGER,      -- 0 or 1
  overlap_param_gather INTEGER,     -- 0 or 1
  tp_comm_overlap INTEGER,          -- 0 or 1
  recompute_granularity TEXT,       -- one of: selective full none
  cuda_graphs INTEGER,              -- 1: graph launches were seen or configured, 0: none
  cuda_device_max_connections INTEGER, -- environment CUDA_DEVICE_MAX_CONNECTIONS
  expandable_segments INTEGER,      -- 0 or 1, PYTORCH_CUDA_ALLOC_CONF
  manual_gc INTEGER,                -- 0 or 1
  precision TEXT,                   -- of the GEMMs seen; one of: fp32 tf32 fp16 bf16 fp8 mxfp8 nvfp4 mixed
  precisions_seen TEXT,             -- of the GEMMs by their names, where they are several: 'bf16 and fp32'
  reduces_in_16_bits INTEGER,       -- 1: every large reduction of data parallelism seen was of 16 bits or fewer, 0: one was wider; NULL: not told
  optimizer_seen TEXT,              -- by names of step ranges; one of: sgd adam other
  ddp_seen INTEGER,                 -- 1: ranges of DistributedDataParallel were recorded
  loader_workers_seen INTEGER,      -- by names of loader ranges: 1: batches come from worker processes, 0: from the training thread
  -- From here on from the run configuration alone (--config); keys of schemas/run_config.schema.json.
  given INTEGER NOT NULL DEFAULT 0, -- 1: a run configuration was given
  taken_as_whole INTEGER,           -- 1: nothing was recorded and no part of the file comes from elsewhere: what it does not set counts as not set
  environment_given INTEGER,        -- 1: variables of the run stand in the file, 0: it shows none
  spelled TEXT,                     -- the settings as the file names them, as recompute_modules: ' moe-enable-deepep seq-length '
  framework TEXT,                   -- as the configuration tells; one of: megatron_lm megatron_bridge pytorch
  gpus INTEGER,
  sequence_parallel INTEGER,        -- 0 or 1
  cp_comm_type TEXT,                -- one of: p2p a2a allgather a2a+p2p
  megatron_fsdp INTEGER,            -- 0 or 1
  torch_fsdp2 INTEGER,              -- 0 or 1: FSDP2 of PyTorch under Megatron
  ckpt_format TEXT,                 -- one of: torch torch_dist torch_dcp zarr fsdp_dtensor
  num_layers INTEGER, num_experts INTEGER, moe_top_k INTEGER, shared_expert_size INTEGER, mtp_layers INTEGER,
  multi_latent_attention INTEGER,   -- 0 or 1
  moe_grouped_gemm INTEGER, moe_permute_fusion INTEGER, moe_router_fusion INTEGER, -- 0 or 1
  moe_router_dtype TEXT,            -- one of: fp32 fp64; NULL: not given, then that of the activations
  moe_router_padding_for_quantization INTEGER, -- 0 or 1
  moe_expert_capacity_factor REAL,
  moe_pad_expert_input_to_capacity INTEGER, -- 0 or 1
  moe_expert_rank_capacity_factor REAL,
  moe_paged_stash INTEGER, moe_shared_expert_overlap INTEGER, -- 0 or 1
  moe_router_load_balancing_type TEXT, -- one of: aux_loss seq_aux_loss global_aux_loss sinkhorn quantile_balancing none
  moe_router_force_load_balancing INTEGER, -- 0 or 1
  delay_wgrad_compute INTEGER, nccl_ub INTEGER, -- 0 or 1
  overlap_dispatch_backward_with_experts_wgrad INTEGER, -- 0 or 1
  moe_deepep_num_sms INTEGER, moe_hybridep_num_sms INTEGER, moe_flex_dispatcher_num_sms INTEGER, -- SMs of the exchange
  recompute_modules TEXT,           -- names with a blank before and after each: ' moe_act layernorm '
  recompute_method TEXT,            -- one of: uniform block
  recompute_num_layers INTEGER,
  fine_grained_activation_offloading INTEGER, -- 0 or 1
  offload_modules TEXT,             -- as recompute_modules
  cpu_offloading_layers INTEGER,    -- above 0: whole layers are offloaded
  use_distributed_optimizer INTEGER, use_precision_aware_optimizer INTEGER, -- 0 or 1
  exp_avg_dtype TEXT,               -- one of: fp32 fp16 bf16 fp8
  grad_reduce_in_fp32 INTEGER, optimizer_cpu_offload INTEGER, -- 0 or 1
  bf16 INTEGER, fp16 INTEGER,       -- 0 or 1
  fp8_format TEXT,                  -- one of: e4m3 hybrid
  fp8_recipe TEXT,                  -- one of: delayed tensorwise rowwise blockwise mxfp8 custom
  fp4_format TEXT,                  -- one of: e2m1 nvfp4
  fp8_param_gather INTEGER, reuse_grad_buf_for_mxfp8_param_ag INTEGER, -- 0 or 1
  cuda_graph_impl TEXT,             -- one of: none local transformer_engine full_iteration
  cuda_graph_modules TEXT,          -- as recompute_modules
  cuda_graph_key TEXT,              -- how the framework's own file spells it; one of: cuda_graph_scope cuda_graph_modules both
  check_for_nan INTEGER, op_fuser INTEGER, optimizer_cuda_graph INTEGER, -- 0 or 1
  manual_gc_interval INTEGER,       -- steps; 0 never collects
  num_workers INTEGER,
  cross_entropy_loss_fusion INTEGER, -- 0 or 1
  cross_entropy_fusion_impl TEXT,   -- one of: native te
  fake_process_group INTEGER,       -- 0 or 1
  layernorm_fwd_sm_margin INTEGER, layernorm_bwd_sm_margin INTEGER, -- SMs that norm kernels of Transformer Engine leave free, by the environment
  nccl_graph_register INTEGER, nvlink_domain_size INTEGER, hybrid_ep_ranks_per_domain INTEGER, use_mnnvl INTEGER,
  ddp_bucket_cap_mb REAL,
  ddp_gradient_as_bucket_view INTEGER, ddp_find_unused_parameters INTEGER, -- 0 or 1
  fsdp_reshard_after_forward INTEGER, -- 0 or 1
  fsdp_shard_size INTEGER, fsdp_replicas INTEGER,
  torch_compile INTEGER, fused_optimizer INTEGER, -- 0 or 1
  -- What the configuration asks for where the recording shows something else; NULL: no contradiction.
  dispatcher_asked TEXT,            -- one of: deepep hybridep ncclep alltoall allgather
  precision_asked TEXT,             -- one of: fp32 fp16 bf16 fp8 mxfp8 nvfp4
  graphs_asked INTEGER,             -- 1: CUDA graphs configured, no graph launch recorded
  contradicted TEXT,                -- all of them: 'tp 4 against 2, gpus 64 against 8', configured against recorded
  denied TEXT,                      -- settings of the file that the recording denies, as recompute_modules: ' sequence_parallel '; off in the file and on: ' sequence_parallel_on '
  sizes_contradicted INTEGER        -- 1: parallel sizes, the framework or the work of a step are among them: the configuration of another run
) STRICT;

-- One row: the arithmetic of the run configuration; without one all NULL but what the recorded GPU tells.
CREATE TABLE fact_layout (
  platform TEXT,                    -- key of rules/platforms.json, as given or as recorded
  compute_major INTEGER,            -- CUDA compute capability, first number
  fast_domain_gpus INTEGER,         -- GPUs that reach each other over NVLink
  experts INTEGER,                  -- 1: a mixture-of-experts model, 0: no sign of one; without a configuration of this run as every rank shows it
  dense_layers INTEGER,             -- layers without experts of a mixture-of-experts model
  attention_product INTEGER,        -- TP x CP x PP
  expert_product INTEGER,           -- ETP x EP x PP
  min_gpus INTEGER,                 -- PP x lcm(TP x CP, ETP x EP), TP x CP times the replicas and shards that are given
  attention_fits INTEGER,           -- 1: GPUs are a multiple of attention_product
  attention_arithmetic TEXT,        -- "24 GPUs / (TP 4 x CP 1 x PP 4 = 16) = 1.5", where it does not fit; so below
  shard_product INTEGER,            -- what is given of replicas x shards, x TP x CP x PP; NULL: neither is given
  shards_fit INTEGER,               -- 1: GPUs are shard_product where both are given, else a multiple of it
  shard_arithmetic TEXT,            -- "12 GPUs / (shards 8 x TP 1 x CP 1 x PP 1 = 8) = 1.5", where it does not fit
  shard_gpus TEXT,                  -- "8", "a multiple of 16"
  expert_fits INTEGER,              -- 1: GPUs are a multiple of expert_product; NULL also without experts
  expert_arithmetic TEXT,
  gpus_nearest TEXT,                -- "16 or 32 GPUs" that both grids divide, where one does not fit
  layout_nearest TEXT,              -- "PP 3 (DP 2)": sizes for the GPUs as they are, nearest to those given
  dp INTEGER, edp INTEGER,          -- computed, whole numbers only
  dp_asked INTEGER,                 -- as given, where it differs from dp
  etp_used INTEGER,                 -- ETP as the framework takes it: TP where it is not given
  etp_given INTEGER,                -- 0 or 1
  dispatcher_given INTEGER,         -- 1: the file sets moe_token_dispatcher_type, 0: it does not; NULL: parts of it come from outside
  samples_per_pass INTEGER,         -- micro-batch x DP
  batch_fits INTEGER,               -- 1: the global batch is a multiple of samples_per_pass
  batch_arithmetic TEXT, batch_nearest TEXT,
  accumulation INTEGER,             -- micro-batches per step
  bubble_share REAL,                -- (PP - 1) / (VPP x accumulation), of the ideal step
  stages INTEGER, stages_given INTEGER, -- PP x VPP, and those of an explicit layout
  stages_fit INTEGER,               -- 0: layers or layout do not fit the stages
  stages_problem TEXT,              -- how
  vpp_choices TEXT,                 -- "2, 4 or 8 (8 layers per stage)": sizes of VPP that divide the layers of a stage; NULL: none, or not known
  stages_nearest TEXT,              -- "VPP 2, or PP 3": values that divide the layers
  sequence_fits INTEGER,            -- 1: sequence a multiple of 2 x CP; NULL also at CP 1
  sequence_arithmetic TEXT, sequence_nearest TEXT,
  tokens_per_shard INTEGER,         -- seq_len / (TP x CP)
  hierarchical_cp INTEGER,          -- product of the sizes of hierarchical context parallelism
  cp_suggested INTEGER,             -- seq_len / 4096 to a power of two, over TP
  cp_offered INTEGER,               -- the CP nearest to it that holds: GPUs, sequence, batch and memory; as it is where none does
  cp_offered_memory TEXT,           -- "104.2 GiB, 132 %": what it then takes; NULL: not known
  experts_fit INTEGER,              -- 1: experts a multiple of EP
  experts_arithmetic TEXT, experts_nearest TEXT,
  ep_offered INTEGER,               -- the largest EP inside the fast domain that holds; NULL: none
  ep_offered_memory TEXT,
  ep_refused TEXT,                  -- "EP 8 needs 104.2 GiB, 132 %": why there is none
  shards_offered INTEGER,           -- ranks of FSDP's sharding where the estimate reaches beyond the GPU: the fewest more that hold, else all
  shards_offered_memory TEXT,
  heads_fit INTEGER,                -- 1: query heads a multiple of TP (and of TP x CP where CP exchanges heads)
  kv_heads_fit INTEGER,             -- 1: key-value heads a multiple of TP, or TP of them
  heads_arithmetic TEXT, heads_nearest TEXT,
  recompute_rejected TEXT,          -- module names that no release accepts
  recompute_corrected TEXT,         -- the list as it is accepted
  recompute_cheap TEXT,             -- modules whose recompute frees much for little and that the model accepts
  recompute_advised TEXT,           -- the configured list by accepted names, without core_attn, and cheap modules in place of moe unless that is needed; NULL: as it is, or none is left
  moe_recompute_needed TEXT,        -- "104.2 GiB, 132 %": what it takes with cheap modules in place of moe, where that reaches beyond the GPU
  recompute_widened TEXT,           -- a selective list that stays as it is, with the cheap modules not in it yet; NULL: none to add
  offload_rejected TEXT,            -- names of offloaded modules that no release accepts: 'foo bar'
  fp8_recipe_suggested TEXT,        -- of this GPU and model; one of: tensorwise blockwise mxfp8; NULL: the GPU is not known
  mixed_precision_suggested TEXT,   -- the same as Megatron Bridge names it
  memory_bytes INTEGER, memory_uncertainty_bytes INTEGER, -- estimate of the fullest pipeline rank
  memory_share REAL,                -- of the capacity of the recorded GPU, else of the platform
  memory_lo_share REAL, memory_hi_share REAL, -- the same with the uncertainty
  memory_without_host TEXT,         -- "104.2 GiB, 57 %": what it takes with the optimizer on the GPU, where that fits
  memory_state_share REAL,          -- of memory_share what is weights, gradients and optimizer state
  recorded INTEGER NOT NULL DEFAULT 0 -- 1: steps of the run were recorded, so it did fit
) STRICT;

-- The settings of the run configuration as a framework writes them, defaults among them.
CREATE TABLE fact_setting (
  framework TEXT NOT NULL,          -- one of: megatron_lm megatron_bridge
  name TEXT NOT NULL,               -- "--manual-gc-interval", "manual_gc_interval"
  value TEXT NOT NULL               -- as it is written there; empty: the flag stands alone
) STRICT;

-- What the recording tells of fact_config and fact_layout, with the software that is stated, a row a
-- column: all that stands there where the run configuration can not have started the run.
CREATE TABLE fact_without_file (
  table_name TEXT NOT NULL,         -- one of: fact_config fact_layout
  name TEXT NOT NULL,               -- of the column
  value ANY
) STRICT;

-- One row: throughput, where batch, sequence and steps are known.
CREATE TABLE fact_throughput (
  tokens_per_step INTEGER,          -- global batch x sequence
  tokens_per_s_per_gpu REAL,
  flops_per_token REAL,             -- model operations, forward and backward, without recompute
  tflops_per_gpu REAL,
  peak_tflops REAL,                 -- dense, datasheet
  peak_precision TEXT,              -- precision of that peak; one of: bf16 fp16 fp8 mxfp8 nvfp4
  mfu REAL,                         -- tflops_per_gpu / peak_tflops
  withheld TEXT                     -- why rates are NULL although the configuration gives what they need, and what to do: it is another run's, or no steps were found
) STRICT;

-- One row per input file.
CREATE TABLE fact_source (
  path TEXT NOT NULL,               -- base name
  format TEXT NOT NULL,             -- "nsys-sqlite", "kineto-json", "wallsight-recording"
  tool_version TEXT,                -- of the recorder, as the file says
  rank INTEGER NOT NULL             -- first rank read from it
) STRICT;

-- One row per (rank, device).
CREATE TABLE fact_rank (
  rank INTEGER NOT NULL,
  device INTEGER NOT NULL,          -- CUDA ordinal
  host TEXT,                        -- host0, host1, ...; NULL: no file of the run names a host
  rank_source TEXT NOT NULL,        -- one of: distributed_info file_name environment order
  gpu TEXT,
  clock_offset_ns INTEGER,          -- to the run's clock; NULL: single rank or not measured
  clock_error_ns INTEGER,           -- residual of that offset
  launch_latency_ns INTEGER NOT NULL, -- Lambda used
  kernel_gap_ns INTEGER NOT NULL,   -- kappa used
  step_mean_ns INTEGER,             -- mean steady step
  stage_idle_ns INTEGER,            -- idle at the edge of its pipeline stage, per step: bubble though its leaves are host states; NULL: no pipeline
  late_ns INTEGER,                  -- marginal lateness per step at collectives; NULL: not matched
  ops INTEGER NOT NULL,             -- device records
  ops_with_launch INTEGER NOT NULL  -- of these, linked to a launch call
) STRICT;

-- Mean partition per (rank, device), ns per steady step; zero leaves are left out.
CREATE TABLE fact_rank_leaf (rank INTEGER NOT NULL, device INTEGER NOT NULL, leaf TEXT NOT NULL, ns INTEGER NOT NULL) STRICT;

-- One row per (rank, device, step), and its partition (zero leaves left out). Leaves sum to end - begin.
CREATE TABLE fact_step (
  rank INTEGER NOT NULL, device INTEGER NOT NULL,
  step INTEGER NOT NULL,            -- number in the step's name, else 0, 1, ...
  name TEXT NOT NULL,
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, -- source clock of the rank
  steady INTEGER NOT NULL,          -- 1: counted in the means
  complete INTEGER NOT NULL,        -- 0: cut by the recording or its faults
  outlier INTEGER NOT NULL,         -- 1: differs from the median by the rule of ALGORITHMS 2
  note TEXT,                        -- why not steady
  excess_leaf TEXT,                 -- outlier: leaf that differs most from the step of median length, a value of fact_leaf.leaf; NULL: no outlier
  excess_ns INTEGER                 -- by how much; below 0 in a shorter step
) STRICT;
CREATE TABLE fact_step_leaf (rank INTEGER NOT NULL, device INTEGER NOT NULL, step INTEGER NOT NULL, leaf TEXT NOT NULL, ns INTEGER NOT NULL) STRICT;

-- Mean partition of the run: every leaf has a row.
CREATE TABLE fact_leaf (
  leaf TEXT NOT NULL,               -- one of: gemm attention membound compute_other recompute comm.tp.wait comm.tp.transfer comm.tp.unsplit comm.ep.wait comm.ep.transfer comm.ep.unsplit comm.dp.wait comm.dp.transfer comm.dp.unsplit comm.pp.wait comm.pp.transfer comm.pp.unsplit comm.cp.wait comm.cp.transfer comm.cp.unsplit comm.p2p.wait comm.p2p.transfer comm.p2p.unsplit comm.other.wait comm.other.transfer comm.other.unsplit copy.h2d copy.d2h copy.offload idle.launch idle.graph_launch idle.host idle.sync idle.alloc idle.dataload idle.gc idle.jit idle.profiler idle.kernel_gap idle.dependency idle.unknown
  ns INTEGER NOT NULL,              -- per steady step, mean over steps then devices
  total_ns INTEGER NOT NULL,        -- sum over all steady steps and devices: exact
  share REAL NOT NULL
) STRICT;

-- Loss groups with intervals; every group has a row.
CREATE TABLE fact_loss (
  loss TEXT NOT NULL,               -- one of: useful memory communication imbalance bubble host
  lo_ns INTEGER NOT NULL, hi_ns INTEGER NOT NULL, -- per steady step
  lo_share REAL NOT NULL, hi_share REAL NOT NULL,
  price_lo_share REAL, price_hi_share REAL, -- by re-simulation; NULL: no graph
  cause TEXT NOT NULL               -- largest cause inside the group, a value of fact_run.cause
) STRICT;

-- Sentences of the verdict in order.
CREATE TABLE fact_verdict_text (
  kind TEXT NOT NULL,               -- one of: why missing
  position INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;

-- Kernels over the steady steps, all devices together.
CREATE TABLE fact_kernel (
  name TEXT NOT NULL, class TEXT NOT NULL, -- class; one of: gemm attention compute_other membound comm p2p h2d d2h
  count INTEGER NOT NULL, total_ns INTEGER NOT NULL, mean_ns INTEGER NOT NULL,
  p50_ns INTEGER NOT NULL, p99_ns INTEGER NOT NULL,
  share REAL NOT NULL,              -- of all steady step time; overlapping kernels may sum to more than 1
  unclassified INTEGER NOT NULL     -- 1: no row of rules/kernel_classes.json matched
) STRICT;

-- Kernels by class; every class has a row.
CREATE TABLE fact_kernel_class (
  class TEXT NOT NULL,              -- one of: gemm attention compute_other membound comm p2p h2d d2h
  count INTEGER NOT NULL,           -- per steady step and device
  total_ns INTEGER NOT NULL,        -- per steady step and device, overlaps counted twice
  mean_ns INTEGER,                  -- per record; NULL: none
  share REAL NOT NULL
) STRICT;

-- Collectives by communicator, operation and size.
CREATE TABLE fact_collective (
  group_name TEXT NOT NULL,
  kind TEXT NOT NULL,               -- one of: ep tp cp pp dp other p2p
  op TEXT NOT NULL,                 -- one of: unknown all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter send recv send_recv barrier
  bytes INTEGER,                    -- payload of one rank; NULL: not recorded
  count INTEGER NOT NULL,           -- over all steady steps and devices
  total_ns INTEGER NOT NULL,        -- sum of durations
  wait_ns INTEGER NOT NULL, transfer_ns INTEGER NOT NULL, unsplit_ns INTEGER NOT NULL, -- exposed
  hidden_ns INTEGER NOT NULL,       -- under compute
  min_ns INTEGER NOT NULL,          -- shortest instance
  bus_gbps REAL,                    -- bus bandwidth of the transfer part; NULL: not split or size unknown
  late_rank INTEGER                 -- rank that arrives last most; NULL: not matched
) STRICT;

-- Communication by kind; every kind has a row.
CREATE TABLE fact_comm (
  kind TEXT NOT NULL,               -- one of: ep tp cp pp dp other p2p
  main_op TEXT,                     -- operation with most exposed time; one of: unknown all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter send recv send_recv barrier
  count REAL NOT NULL,              -- per steady step and device
  total_share REAL NOT NULL,        -- union of the kind's time
  exposed_share REAL NOT NULL,      -- leaves comm.<kind>.*
  wait_share REAL NOT NULL, transfer_share REAL NOT NULL, unsplit_share REAL NOT NULL,
  hidden_share REAL NOT NULL,       -- total minus exposed
  overlap_share REAL,               -- hidden / total, 0..1; NULL: none of the kind
  guessed INTEGER NOT NULL          -- 1: the kind comes from patterns, not from a name
) STRICT;

-- Idle time by cause; every idle leaf has a row.
CREATE TABLE fact_idle (
  cause TEXT NOT NULL,              -- one of: launch graph_launch host sync alloc dataload gc jit profiler kernel_gap dependency unknown
  ns INTEGER NOT NULL,              -- per steady step
  count INTEGER NOT NULL,           -- stretches over all steady steps and devices
  share REAL NOT NULL,
  largest_rank INTEGER, largest_device INTEGER, largest_begin_ns INTEGER, largest_ns INTEGER, -- longest single stretch
  largest_before TEXT, largest_after TEXT -- kernels around it
) STRICT;

-- One row: host and launch behaviour, per steady step and device.
CREATE TABLE fact_host (
  kernels_per_step REAL, launches_per_step REAL, graph_launches_per_step REAL, api_calls_per_step REAL,
  syncs_per_step REAL,              -- calls that block the host until the device is done
  small_d2h_per_step REAL,          -- device-to-host copies of at most 64 bytes
  alloc_calls_per_step REAL,        -- cudaMalloc / cudaFree and kin
  mean_kernel_ns INTEGER,           -- mean kernel duration
  launch_spacing_ns INTEGER,        -- median time from one launch call to the next
  sync_host_ns INTEGER,             -- host time inside synchronising calls: NOT the loss, the device mostly works
  run_ahead_p10_ns INTEGER,         -- 10th percentile of launch-to-start: near 0 means host bound
  host_marker_ns INTEGER,           -- mean length of the host's own step range; NULL: no such ranges
  steps_with_pause INTEGER          -- steps with one unexplained host gap over 1 ms
) STRICT;

-- One row: memory.
CREATE TABLE fact_memory (
  capacity_bytes INTEGER,           -- as fact_run.gpu_memory_bytes
  peak_allocated_bytes INTEGER, peak_reserved_bytes INTEGER, -- largest over devices; NULL: not recorded
  headroom_share REAL,              -- 1 - peak reserved / capacity, of the device with least
  fragmentation_share REAL,         -- (reserved - allocated) / reserved at peak
  recompute_share REAL NOT NULL,    -- leaf recompute
  recompute_estimated INTEGER NOT NULL, -- 1: by counting, a bound
  offload_exposed_share REAL NOT NULL,  -- leaf copy.offload
  offload_idle_share REAL NOT NULL,     -- idle between the copy down and the copy back
  offload_bytes INTEGER NOT NULL,       -- per steady step and device
  alloc_share REAL NOT NULL,            -- leaf idle.alloc
  h2d_bytes INTEGER NOT NULL, d2h_bytes INTEGER NOT NULL,   -- per steady step and device
  h2d_exposed_share REAL NOT NULL, d2h_exposed_share REAL NOT NULL, -- leaves copy.h2d, copy.d2h
  pageable_copies_per_step REAL NOT NULL, pageable_bytes INTEGER NOT NULL,
  pageable_exposed_share REAL NOT NULL, -- exposed copies and their staging if any copy is pageable
  pageable_gbps REAL,                   -- achieved; NULL: no pageable copies
  pinned_gbps REAL,                     -- achieved by pinned copies of at least 1 MiB on the slowest device, in the direction that takes it longer; NULL: none
  host_link_gbps REAL,                  -- datasheet rate of the link to the host, one way; NULL: unknown GPU
  pinned_link_share REAL                -- pinned_gbps of host_link_gbps; NULL where one of them is
) STRICT;

-- Copies by direction and kind of host memory, per steady step and device. Absent rows: none.
CREATE TABLE fact_copy (
  direction TEXT NOT NULL,          -- one of: h2d d2h peer
  host_memory TEXT,                 -- one of: pinned pageable; NULL: not told, or between devices
  bytes INTEGER NOT NULL,
  busy_ns INTEGER NOT NULL,         -- time with at least one of them running
  gbps REAL                         -- bytes / busy_ns; NULL: no time
) STRICT;

-- What a change would gain, by re-simulation. Absent rows were not simulated.
CREATE TABLE fact_what_if (
  id TEXT NOT NULL,                 -- DESIGN 5, for example ep_zero, launch_zero
  step_lo_ns INTEGER NOT NULL, step_hi_ns INTEGER NOT NULL,
  saved_lo_share REAL NOT NULL, saved_hi_share REAL NOT NULL,
  next_loss TEXT, next_cause TEXT,
  asked INTEGER NOT NULL DEFAULT 0  -- 1: named with --what-if, shown whatever it saves
) STRICT;

-- One row: how the gains were re-simulated.
CREATE TABLE fact_replay (
  steps INTEGER NOT NULL,           -- step lengths behind every gain; 0: nothing was re-simulated
  unexplained_share REAL,           -- of the step: what the dependency graph can not explain; NULL: no graph
  recorded_edges INTEGER,           -- dependencies between streams by recorded events
  inferred_edges INTEGER,           -- dependencies that the order of calls implies, not recorded ones
  dropped_edges INTEGER,            -- dependencies that the clock contradicts
  prices_used INTEGER NOT NULL,     -- 1: the verdict goes by prices, 0: by shares
  why_no_gains TEXT,                -- why nothing was re-simulated; NULL: it was
  why_no_prices TEXT                -- why shares decide though gains were re-simulated; NULL: prices decide, or no gains
) STRICT;

-- Critical path of the re-simulated steps: rows sum to their time. Zero rows are left out.
CREATE TABLE fact_path (
  rank INTEGER NOT NULL,
  leaf TEXT NOT NULL,               -- a value of fact_leaf.leaf
  ns INTEGER NOT NULL,              -- over all re-simulated steps
  share REAL NOT NULL               -- of the path
) STRICT;

-- One row when several ranks or devices were analyzed: how they were joined, who was late, balance.
CREATE TABLE fact_across (
  ranks INTEGER NOT NULL,           -- devices with communication
  instances INTEGER NOT NULL,       -- collectives seen on two of them or more
  split INTEGER NOT NULL,           -- of these, split into waiting and transfer
  inconsistent INTEGER NOT NULL, incomplete INTEGER NOT NULL, -- not split: operations differ, members missing
  clock_method TEXT NOT NULL,       -- one of: shared medians densest
  clock_error_ns INTEGER NOT NULL,  -- largest residual of common ends
  clock_samples INTEGER NOT NULL,   -- collectives behind the offsets
  straggler TEXT NOT NULL,          -- one of: none persistent transient rotating seldom
  straggler_rank INTEGER,           -- persistent and transient only
  straggler_step TEXT,              -- transient only
  steps INTEGER NOT NULL, late_steps INTEGER NOT NULL, -- counted steps; those with any delay
  late_ranks TEXT,                  -- at least a tenth of all delay each, "0,3"; NULL: nobody
  slower_kernels_share REAL,        -- straggler: same kernels take this much longer than on the other ranks (0.3: 30 %)
  expert_max_over_mean REAL, expert_max_over_min REAL, -- expert GEMM time before an exchange, mean over exchanges
  expert_hot_ranks INTEGER,         -- different ranks with most expert work
  stages INTEGER,                   -- pipeline stages of a replica; NULL: no pipeline
  stage_max_over_mean REAL,         -- useful time of the stages
  bubble_micro_batches INTEGER,     -- micro-batches of a 1F1B schedule with this bubble; NULL: none fits
  stage_idle_share REAL,            -- idle at the edges of a stage's own work, counted as bubble
  load_balance REAL, communication_efficiency REAL, parallel_efficiency REAL, host_efficiency REAL -- POP, on device time
) STRICT;

-- Why ranks arrived last, largest first.
CREATE TABLE fact_late_cause (
  rank INTEGER NOT NULL,            -- where the delay began
  category TEXT NOT NULL,           -- one of: gemm expert_gemm attention membound compute_other recompute copy offload launch host sync alloc dataload gc jit profiler unknown transfer
  cause TEXT NOT NULL,              -- a value of fact_run.cause
  ns INTEGER NOT NULL,              -- delay it caused, per counted step
  share REAL NOT NULL,              -- of all delay
  collectives INTEGER NOT NULL,     -- delayed by it
  steps INTEGER NOT NULL            -- in which it happened
) STRICT;

-- What recording cost: one row per rank that wallsight recorded.
CREATE TABLE fact_recorder (
  rank INTEGER NOT NULL,
  window_ns INTEGER,                -- in which records were taken; NULL: the recording does not say
  writer_share REAL,                -- CPU time of the recorder's thread, of the window: of one core
  tool_share REAL,                  -- CUPTI's own work (its OVERHEAD records), of the window
  bare_step_ns INTEGER,             -- median step outside the window; NULL: fewer than three, or no step range was watched
  recorded_step_ns INTEGER,         -- median step inside it
  slowdown_share REAL               -- recorded / bare - 1; NULL where one of them is
) STRICT;

-- What was dropped, repaired, assumed or could not be seen.
CREATE TABLE fact_note (
  code TEXT NOT NULL, severity TEXT NOT NULL, -- severity; one of: info warning data_loss
  count INTEGER NOT NULL, first_place TEXT NOT NULL, text TEXT NOT NULL, advice TEXT NOT NULL
) STRICT;
