import type { HalfType } from './onnxModel.ts';

/**
 * Operators that a program may use, and how it rounds. Execution providers lack kernels for some operators and compute
 * others incorrectly.
 */
export interface Dialect {
	/** Whether to use onnxruntime's SimplifiedLayerNormalization: RMSNorm in one pass. */
	readonly fusedNorm: boolean;
	/** Whether the second output of SimplifiedLayerNormalization, 1/rms, is correct. */
	readonly normScale: boolean;
	/** Whether LogSoftmax has a kernel. */
	readonly logSoftmax: boolean;
	/** Whether decode steps use the operators in fused.ts, which need fewer dispatches. */
	readonly fusedDecode: boolean;
	/** Whether onnxruntime's FusedConv supports the QuickGelu and HardSigmoid activations. */
	readonly fusedActivations: boolean;
	/** Whether programs compute the large inputs of a micro-batch from small ones, so that less is transferred. */
	readonly expandsBatches: boolean;
	/** Type to which the operands of matrix products with layer weights are rounded, or null for no rounding. */
	readonly products: HalfType | null;
	/** The same for the gradients of these products. */
	readonly gradientProducts: HalfType | null;
}

/** onnxruntime's CPU provider. */
export const cpuDialect: Dialect = {
	fusedNorm: true,
	normScale: true,
	logSoftmax: true,
	fusedDecode: false,
	fusedActivations: false,
	expandsBatches: false,
	products: null,
	gradientProducts: null,
};

/** onnxruntime's CUDA provider. */
export const cudaDialect: Dialect = { ...cpuDialect, fusedDecode: true, expandsBatches: true };

/** Standard ONNX operators only. */
export const standardDialect: Dialect = { ...cpuDialect, fusedNorm: false, normScale: false };

/**
 * onnxruntime 1.30's WebGPU provider. The second output of its SimplifiedLayerNormalization is wrong, and LogSoftmax
 * would fall back to the CPU, with a round trip. test/gpu/kernels.test.ts fails when a newer version no longer needs
 * one of these workarounds.
 */
export const webgpuDialect: Dialect = {
	...cudaDialect,
	fusedActivations: true,
	normScale: false,
	logSoftmax: false,
};

/**
 * Returns the dialect for decode steps. They multiply few rows, so most of their time goes into launching operators,
 * and conversions would only add to it.
 */
export function decodeDialect(dialect: Dialect): Dialect {
	return withProducts(dialect, null);
}

/** Returns a dialect with products of the given type. */
export function withProducts(dialect: Dialect, type: HalfType | null): Dialect {
	// Gradients can be smaller than the smallest float16. A bfloat16 has the range of a float32.
	return { ...dialect, products: type, gradientProducts: type === 'float16' ? null : type };
}
