// One row per family and per trap of the table of kernel names.
#include "analysis/kernel_classes.h"

#include <string>

#include "analysis/labels.h"
#include "support/catch.h"

using namespace ws;

namespace {

const KernelClasses& classes() {
  static const KernelClasses k = [] {
    auto loaded = KernelClasses::load(WS_SOURCE_DIR "/rules/kernel_classes.json");
    if (!loaded) FAIL(loaded.error().message);
    return *loaded;
  }();
  return k;
}

constexpr auto kGemm = OpClass::gemm;
constexpr auto kAttention = OpClass::attention;
constexpr auto kMembound = OpClass::membound;
constexpr auto kOther = OpClass::compute_other;

struct Row {
  const char* name;
  OpClass cls;
  const char* family;
  uint8_t flags = 0;
  PassHint pass = PassHint::none;
};

const Row kCompute[] = {
    // GEMM
    {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN", kGemm, "nvjet"},
    {"nvjet_sm103_tst_64x16_64x16_4x1_v_bz_splitK_TNN", kGemm, "nvjet"},
    {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32_stage4_warpsize4x2x1_"
     "tensor16x8x16_kernel",
     kGemm, "xmma_gemm"},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", kGemm, "xmma_gemm"},
    {"ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_tn", kGemm, "gemm"},
    {"ampere_sgemm_128x64_nn", kGemm, "gemm"},
    {"volta_cgemm_32x32_tn", kGemm, "gemm"},
    {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", kGemm, "gemm"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8>"
     "(cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8::Params)",
     kGemm, "cutlass_gemm"},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(T1::Params)", kGemm,
     "cutlass_gemm"},
    {"cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8", kGemm, "cutlass_gemm"},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int> > >(T)",
     kGemm, "cutlass_gemm"},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)", kGemm,
     "splitk_reduce"},
    {"void epilogue::impl::globalKernel<float, float, float, true, true>(int, int)", kGemm,
     "splitk_reduce"},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(T)", kGemm,
     "gemv"},
    {"void gemv2T_kernel_val<int, int, float, float>(float)", kGemm, "gemv"},
    {"void scal_kernel<float, float, 1, false, 6, 5, 5, 3>(cublasTransposeParams<float>)", kGemm,
     "gemv"},
    {"void gemmk1_kernel<float, 256, 5>(cublasGemmk1Params<float>)", kGemm, "gemm"},
    {"void gemmSN_NN_kernel<float, 128, 2>(cublasGemmSmallNParams)", kGemm, "gemm"},
    {"sgemm_largek_lds64", kGemm, "gemm"},
    {"magma_sgemmEx_kernel", kGemm, "gemm"},
    {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1", kGemm, "tensile"},
    {"_ZN2ck16tensor_operation6device27kernel_batched_gemm_xdlopsILi1EEEvT_", kGemm, "ck_gemm"},
    {"triton_tem_fused_mm_3", kGemm, "inductor_gemm"},
    {"triton_mm_kernel", kGemm, "inductor_gemm"},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::"
     "GroupProblemShape> >",
     kGemm, "grouped_gemm", kFlagGrouped},
    {"void cutlass::Kernel<cutlass::gemm::kernel::GemmGrouped<int> >(T)", kGemm, "grouped_gemm",
     kFlagGrouped},
    {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", kGemm, "grouped_gemm", kFlagGrouped},
    {"bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128u2_s6_et64x8_swiGlu_dynB_sm100f", kGemm,
     "grouped_gemm", kFlagGrouped},
    {"fused_moe_kernel", kGemm, "grouped_gemm", kFlagGrouped},
    {"void deep_gemm::fp8_m_grouped_gemm_nt_contiguous_kernel<4096u>(T)", kGemm, "grouped_gemm",
     kFlagGrouped},
    {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>(float*)", kGemm, "deep_gemm"},
    {"void flux::gemm_rs_kernel<int>(T)", kGemm, "fused_gemm_comm", kFlagFusedComm},
    // CONV
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32", kGemm,
     "conv"},
    {"sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32", kGemm, "conv"},
    {"void cutlass_cudnn_train::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128>(T)",
     kGemm, "conv"},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop>(T)", kGemm, "conv"},
    {"volta_scudnn_128x64_relu_xregs_large_nn_v1", kGemm, "conv"},
    {"void implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1>(int)", kGemm, "conv"},
    {"void explicit_convolve_sgemm<float, int>(int)", kGemm, "conv"},
    {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(T)", kGemm, "conv"},
    {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)", kGemm,
     "conv"},
    {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)", kGemm, "conv"},
    {"void fft2d_r2c_32x32<float, false, 1u, false>(float2*)", kGemm, "conv"},
    {"void flip_filter<float, float>(float*)", kGemm, "conv"},
    {"void cudnn::cnn::im2col4d_kernel<float, int>(T)", kGemm, "conv"},
    {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32_wt32x32x8", kGemm, "conv"},
    {"igemm_bwd_gtcx2_nhwc_bf16", kGemm, "conv"},
    {"igemm_wrw_gtcx3_nhwc_bf16", kGemm, "conv"},
    {"Im2d2Col_v2", kGemm, "conv"},
    {"_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3"
     "INS_4GridwiseGemmILi1EEE",
     kGemm, "conv"},
    // ATTN
    {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64> >(T)",
     kAttention, "flash_attention", 0, PassHint::forward},
    {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64> >(T)", kAttention,
     "flash_attention", 0, PassHint::forward},
    {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64> >(T)",
     kAttention, "flash_attention", 0, PassHint::backward},
    {"void flash_bwd_dot_do_o_kernel<true, int>(T)", kAttention, "flash_attention_helper"},
    {"void flash_bwd_convert_dq_kernel<int>(T)", kAttention, "flash_attention_helper"},
    {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int> > >(T)",
     kAttention, "flash_attention", 0, PassHint::forward},
    {"void cutlass::device_kernel<flash::FlashAttnBwdSm90<int> >(T)", kAttention, "flash_attention",
     0, PassHint::backward},
    {"void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<int> >(T)", kAttention,
     "flash_attention_helper"},
    {"flash::prepare_varlen_num_blocks_kernel(int)", kAttention, "flash_attention_helper"},
    {"kernel_cutlass_kernel_flash::FlashAttentionForwardSm100_object", kAttention,
     "flash_attention", 0, PassHint::forward},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1",
     kAttention, "flash_attention", 0, PassHint::forward},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", kAttention, "flash_attention",
     0, PassHint::backward},
    {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<int>)",
     kAttention, "fmha", 0, PassHint::forward},
    {"fmha_cutlassB_bf16_aligned_64x64_k64_sm80(T)", kAttention, "fmha", 0, PassHint::backward},
    {"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKv", kAttention, "fmha", 0,
     PassHint::forward},
    {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<int>(T)", kAttention, "paged_attention"},
    {"attn_fwd", kAttention, "triton_attention", 0, PassHint::forward},
    {"attn_bwd_dkdv", kAttention, "triton_attention", 0, PassHint::backward},
    {"kernel_unified_attention_2d", kAttention, "paged_attention"},
    {"void paged_attention_ll4mi_QKV_mfma16_kernel<int>(T)", kAttention, "paged_attention"},
    {"reduce_segments", kAttention, "paged_attention"},
    {"void (anonymous namespace)::scaled_upper_triang_masked_softmax_warp_forward<c10::Half, "
     "c10::Half, float, 11>(c10::Half*)",
     kAttention, "attention_unfused", 0, PassHint::forward},
    {"void scaled_masked_softmax_warp_backward<int>(T)", kAttention, "attention_unfused", 0,
     PassHint::backward},
    {"triton_tem_fused_flex_attention_backward_4", kAttention, "inductor_attention", 0,
     PassHint::backward},
    {"triton_tem_fused_flex_attention_2", kAttention, "inductor_attention", 0, PassHint::forward},
    // MOE
    {"void moe_permute_kernel<int>(T)", kMembound, "moe_permute", kFlagMoe},
    {"void moe_unpermute_kernel<int>(T)", kMembound, "moe_permute", kFlagMoe},
    {"moe_permute_row_map(int const*)", kMembound, "moe_permute", kFlagMoe},
    {"void transformer_engine::multi_padding_kernel<8, float>(T)", kMembound, "moe_permute",
     kFlagMoe},
    {"_permute_kernel", kMembound, "moe_permute", kFlagMoe},
    {"_unpermute_bwd_with_merging_probs_kernel", kMembound, "moe_permute", kFlagMoe},
    {"_row_id_map_pass_1_kernel", kMembound, "moe_permute", kFlagMoe},
    {"_make_chunk_sort_map_kernel", kMembound, "moe_permute", kFlagMoe},
    {"_sort_chunks_by_map_kernel", kMembound, "moe_permute", kFlagMoe},
    {"void fused_topk_with_score_function_forward_kernel<float>(T)", kMembound, "moe_routing",
     kFlagMoe},
    {"void fused_score_for_moe_aux_loss_forward_kernel<float>(T)", kMembound, "moe_routing",
     kFlagMoe},
    {"void radix_topk_one_block_kernel<float>(T)", kMembound, "moe_routing", kFlagMoe},
    {"void moe::dev::routing::routingCustom::routingIndicesDynBlockKernel<int>(T)", kMembound,
     "moe_routing", kFlagMoe},
    {"void moe::dev::finalize::finalizeKernel<int>(T)", kMembound, "moe_routing", kFlagMoe},
    {"_topk_forward", kMembound, "moe_routing", kFlagMoe},
    {"_combined_routing_memset", kMembound, "moe_routing", kFlagMoe},
    {"_sum_bitmatrix_rows", kMembound, "moe_routing", kFlagMoe},
    {"_finalize_matmul_scatter_bf16", kMembound, "moe_permute", kFlagMoe},
    {"triton_poi_fused_constant_pad_nd_moe_forward_0", kMembound, "moe_inductor", kFlagMoe},
    {"void vllm::moe::moe_align_block_size_kernel<int>(T)", kMembound, "moe_routing", kFlagMoe},
    {"void vllm::moe::topkGatingSoftmax<8, 128>(T)", kMembound, "moe_routing", kFlagMoe},
    {"deep_ep::layout::get_dispatch_layout<256, 32>(long const*)", kMembound, "deep_ep_layout",
     kFlagMoe},
    {"void hybrid_ep::permute_kernel<int>(T)", kMembound, "hybrid_ep_permute", kFlagMoe},
    // OPT
    {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctorMaster>", kMembound,
     "multi_tensor_apply", kFlagOptimizer},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<4>, FusedAdamMathFunctor<float> >(T)",
     kMembound, "multi_tensor_apply", kFlagOptimizer},
    {"void multi_tensor_apply_kernel<TensorListMetadata<1>, L2NormFunctor<float> >(T)", kMembound,
     "grad_norm", kFlagOptimizer},
    {"void at::native::<unnamed>::multi_tensor_apply_kernel<T1, at::native::CopyFunctor>(T)",
     kMembound, "foreach_copy"},
    {"void at::native::<unnamed>::multi_tensor_apply_kernel<T1, UnaryOpFunctor<long, 2, 1, 1>, "
     "at::native::Copy<long, long>>(T)",
     kMembound, "foreach_copy"},
    {"void adamw_kernel3<float>(T)", kMembound, "fused_optimizer", kFlagOptimizer},
    // EW
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(T)", kMembound,
     "norm", 0, PassHint::forward},
    {"void cuApplyLayerNorm<c10::Half, float, c10::Half>(c10::Half*)", kMembound, "norm", 0,
     PassHint::forward},
    {"void cuComputePartGradGammaBeta<float>(T)", kMembound, "norm", 0, PassHint::backward},
    {"void transformer_engine::normalization::ln_fwd_tuned_kernel<int>(T)", kMembound, "norm", 0,
     PassHint::forward},
    {"void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<int>(T)", kMembound, "norm",
     0, PassHint::backward},
    {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_4PipeEEE", kMembound, "norm"},
    {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EE", kMembound, "norm"},
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(T)", kMembound, "norm"},
    {"MIOpenBatchNormBwdSpatial", kMembound, "norm"},
    {"void transformer_engine::cast_transpose_general_kernel<int>(T)", kMembound, "quantize"},
    {"void transformer_engine::quantize_mxfp8_kernel<int>(T)", kMembound, "quantize"},
    {"void transformer_engine::amax_kernel<8, true>(T)", kMembound, "quantize"},
    {"void HadamardTransformKernel<int>(T)", kMembound, "quantize"},
    {"void transformer_engine::gated_act_kernel<8, float>(T)", kMembound, "activation"},
    {"void vllm::act_and_mul_kernel<float>(T)", kMembound, "activation"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "at::detail::Array<char*, 3> >(int)",
     kMembound, "elementwise"},
    {"void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, "
     "std::array<char *, (unsigned long)1>>(int, T2, T3)",
     kMembound, "fill"},
    {"void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast"
     "<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::"
     "operator ()() const>>(int, T3)",
     kMembound, "copy"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps> >(R)",
     kMembound, "reduce"},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false>(T)",
     kMembound, "softmax"},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
     "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(T)",
     kMembound, "loss"},
    {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>(T)",
     kMembound, "loss"},
    {"void vllm::rotary_embedding_kernel<float, true>(T)", kMembound, "rope"},
    {"void transformer_engine::thd_out_correction_kernel<float>(T)", kMembound, "context_parallel"},
    {"void vllm::reshape_and_cache_flash_kernel<int>(T)", kMembound, "kv_cache"},
    {"nvfuser_pointwise_f0_c1_r0_g0", kMembound, "nvfuser"},
    {"triton_poi_fused_addmm_gelu_view_3", kMembound, "inductor_pointwise"},
    {"triton_red_fused_add_mean_mul_pow_rsqrt_0", kMembound, "inductor_reduction"},
    {"triton__0d1d2d3de", kMembound, "triton"},
    {"void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(T)", kMembound,
     "sort_scan"},
    {"void cub::DeviceRadixSortOnesweepKernel<int>(T)", kMembound, "sort_scan"},
    {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<int>"
     "(T)",
     kMembound, "embedding"},
    {"void fbgemm_gpu::permute_2D_data_kernel<true, int>(T)", kMembound, "embedding"},
    {"void recat_copy_async_kernel<int>(T)", kMembound, "embedding"},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float>(T)", kMembound, "index"},
    {"void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(T)", kMembound,
     "pooling"},
    // COPY
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(T)",
     kMembound, "concat_split"},
    {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(T)", kMembound, "layout"},
    {"batched_transpose_32x32_half", kMembound, "layout"},
    {"void at::native::triu_tril_kernel<bool, int, false>(T)", kMembound, "index"},
    {"__amd_rocclr_copyBuffer", kMembound, "copy"},
    {"__amd_rocclr_fillBufferAligned", kMembound, "fill"},
    // traps: the tempting word is not what the kernel does
    {"void (anonymous namespace)::groupnorm_kernel_dispatch_down<float>(T)", kMembound, "norm"},
    {"void at::native::_scatter_gather_elementwise_kernel<128, 8, int>(int)", kMembound,
     "elementwise"},
    {"triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10", kMembound,
     "inductor_pointwise"},
    {"kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at",
     kMembound, "norm"},
    {"create_flashinfer_kv_indices_triton", kMembound, "kv_cache"},
    {"cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)", kOther,
     "library_helper"},
    {"void dispatch<int>(int*)", kOther, "unclassified", kFlagUnclassified},
    {"void combine<4>(int*)", kOther, "unclassified", kFlagUnclassified},
    {"kernel_cutlass_kernel_mymodule_something", kOther, "unclassified", kFlagUnclassified},
    {"saxpy(double *, double *, double *, double, int)", kOther, "unclassified", kFlagUnclassified},
    {"add(int, float *, float *)", kOther, "unclassified", kFlagUnclassified},
    {"vecAdd(double *, double *, double *, int)", kOther, "unclassified", kFlagUnclassified},
    {"kernel", kOther, "unclassified", kFlagUnclassified},
    {"Kernel2", kOther, "unclassified", kFlagUnclassified},
    {"nvkernel_solve_F1L204_2", kOther, "unclassified", kFlagUnclassified},
    {"", kOther, "unclassified", kFlagUnclassified},
};

struct CommRow {
  const char* name;
  CollectiveOp coll;
  const char* family;
  CommKind kind = CommKind::other;
  uint8_t flags = 0;
};
constexpr auto kAllReduce = CollectiveOp::all_reduce;
constexpr auto kAllToAll = CollectiveOp::all_to_all;

const CommRow kComm[] = {
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
     kAllReduce, "nccl"},
    {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CollectiveOp::all_gather,
     "nccl"},
    {"ncclDevKernel_AllGatherV_RING_LL", CollectiveOp::all_gather, "nccl"},
    {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", CollectiveOp::reduce_scatter, "nccl"},
    {"ncclDevKernel_Reduce_Sum_f32_RING_LL", CollectiveOp::reduce, "nccl"},
    {"ncclDevKernel_Broadcast_RING_LL", CollectiveOp::broadcast, "nccl"},
    {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", CollectiveOp::send_recv, "nccl"},
    {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", CollectiveOp::unknown, "nccl"},
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", kAllReduce, "nccl"},
    {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", CollectiveOp::broadcast, "nccl"},
    {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", CollectiveOp::send_recv, "nccl"},
    {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", kAllReduce, "nccl"},
    {"ncclSymkDevKernel_AllGather_LLMC", CollectiveOp::all_gather, "nccl"},
    {"ncclSymkDevKernel_ReduceScatter_RailA2A_LsaLD_sum_bf16", CollectiveOp::reduce_scatter,
     "nccl"},
    {"ncclSymDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_f32", kAllReduce, "nccl"},
    {"mscclKernel_Sum_float_Simple(int)", CollectiveOp::unknown, "mscclpp"},
    {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", kAllToAll, "deep_ep", CommKind::ep,
     kFlagEpLibrary},
    {"void deep_ep::legacy::internode::combine<true, int>(int4*)", kAllToAll, "deep_ep",
     CommKind::ep, kFlagEpLibrary},
    {"void deep_ep::intranode::notify_dispatch<8>(int const*)", kAllToAll, "deep_ep", CommKind::ep,
     kFlagEpLibrary},
    {"void deep_ep::intranode::cached_notify_combine<8>(void**)", kAllToAll, "deep_ep",
     CommKind::ep, kFlagEpLibrary},
    {"void internode_ll::dispatch<false, 7168>(void*)", kAllToAll, "deep_ep", CommKind::ep,
     kFlagEpLibrary},
    {"void hybrid_ep::dispatch_kernel<int>(T)", kAllToAll, "hybrid_ep", CommKind::ep,
     kFlagEpLibrary},
    {"void hybrid_ep::ag_nvl_kernel<int>(T)", CollectiveOp::all_gather, "hybrid_ep", CommKind::ep,
     kFlagEpLibrary},
    {"void hybrid_ep::device_sync_kernel(int)", CollectiveOp::barrier, "hybrid_ep", CommKind::ep,
     kFlagEpLibrary},
    {"kuserbuffers_pushsend(int, int)", CollectiveOp::send_recv, "userbuffers", CommKind::tp},
    {"void userbuffers_fp16_sum_inplace_gpu_rr_rs<8>(int)", CollectiveOp::reduce_scatter,
     "userbuffers", CommKind::tp},
    {"nvshmemi_reduce_kernel(int)", CollectiveOp::unknown, "nvshmem"},
    {"nvshmem_barrier_on_stream_kernel(int)", CollectiveOp::barrier, "nvshmem"},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(T)", kAllReduce, "custom_all_reduce",
     CommKind::tp},
    {"void sglang::cross_device_reduce_2stage<half, 8>(T)", kAllReduce, "custom_all_reduce",
     CommKind::tp},
    {"void two_shot_all_reduce_kernel_inplace<float>(T)", kAllReduce, "custom_all_reduce",
     CommKind::tp},
    {"void multimem_all_reduce_kernel<float>(T)", kAllReduce, "custom_all_reduce", CommKind::tp},
    {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<int>(T)",
     kAllReduce, "custom_all_reduce", CommKind::tp},
};

}  // namespace

TEST_CASE("kernel names: compute families and traps") {
  for (const Row& row : kCompute) {
    INFO(row.name);
    const NameClass c = classes().classify(row.name);
    CHECK(name_of(c.cls) == name_of(row.cls));
    CHECK(c.family == row.family);
    CHECK(int{c.flags} == int{row.flags});
    CHECK(c.pass == row.pass);
  }
}

TEST_CASE("kernel names: communication, its collective and its kind") {
  for (const CommRow& row : kComm) {
    INFO(row.name);
    const NameClass c = classes().classify(row.name);
    CHECK(name_of(c.cls) == name_of(OpClass::comm));
    CHECK(name_of(c.coll) == name_of(row.coll));
    CHECK(c.family == row.family);
    CHECK(name_of(c.kind) == name_of(row.kind));
    CHECK(int{c.flags} == int{row.flags});
  }
}

TEST_CASE("kernel names: hostile names cost linear time") {
  // 2000 names of 4 KB that repeat the beginnings of many words.
  std::string name = "at::native::";
  while (name.size() < 4096) name += "ncclDevKernel_AllRedflash_fwcutlass::device_ker<gem(";
  size_t gemms = 0;
  for (int i = 0; i < 2000; ++i) {
    name.replace(0, 4, std::to_string(1000 + i));
    gemms += classes().classify(name).cls == OpClass::gemm ? 1u : 0u;
  }
  CHECK(gemms == 0);
  const std::string deep(1 << 20, '<');
  CHECK(classes().classify(deep).family == "unclassified");
  CHECK(classes().classify(std::string(4096, '>') + "flash_fwd").family == "flash_attention");
}
