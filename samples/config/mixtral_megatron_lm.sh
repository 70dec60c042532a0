#!/bin/bash
# A launch script of Megatron-LM as people write them.
#SBATCH --nodes=8
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
TP=${TP:-2}
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --seq-length 4096
    --vocab-size 32000
    --swiglu
    --untie-embeddings-and-output-weights
)
MOE_ARGS="--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall"
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 8 pretrain_gpt.py \
    ${MODEL_ARGS[@]} $MOE_ARGS \
    --tensor-model-parallel-size $TP --sequence-parallel \
    --pipeline-model-parallel-size 4 --expert-model-parallel-size 8 \
    --micro-batch-size 1 --global-batch-size 256 \
    --bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --data-path my_data --train-iters 1000
