/** The operators a program may use. Execution providers differ in their kernels: some are missing, some are wrong. */
export interface Dialect {
	/** onnxruntime's SimplifiedLayerNormalization: RMSNorm in one pass. */
	readonly fusedNorm: boolean;
	/** Its second output, 1/rms, is correct. */
	readonly normScale: boolean;
	/** LogSoftmax has a kernel. */
	readonly logSoftmax: boolean;
}

/** The CPU provider of onnxruntime. */
export const cpuDialect: Dialect = { fusedNorm: true, normScale: true, logSoftmax: true };

/** Only operators of the ONNX standard. */
export const standardDialect: Dialect = { fusedNorm: false, normScale: false, logSoftmax: true };

/**
 * The WebGPU provider of onnxruntime 1.30. The second output of SimplifiedLayerNormalization is wrong there, and
 * LogSoftmax would be computed on the CPU, with a round trip. test/gpu/kernels.test.ts fails once a newer version
 * no longer needs an entry.
 */
export const webgpuDialect: Dialect = { fusedNorm: true, normScale: false, logSoftmax: false };
