import * as v from 'valibot';

/**
 * `runtime.json` in a folder with a copy of onnxruntime that has the CUDA provider. Written last, so a folder with this
 * file is complete.
 */
export const gpuRuntimeSchema = v.looseObject({
	format: v.literal(1),
	/** Version of onnxruntime-node and of the provider, which must be the same. */
	onnxruntime: v.string(),
	/** File names in `lib`, in the order in which they must be loaded. */
	libraries: v.array(v.pipe(v.string(), v.regex(/^[\w.+-]+$/))),
	wheels: v.array(v.object({ name: v.string(), version: v.string(), sha256: v.string(), bytes: v.number() })),
	/** When the folder was created, in milliseconds. */
	created: v.number(),
});

export type GpuRuntimeRecord = v.InferOutput<typeof gpuRuntimeSchema>;
