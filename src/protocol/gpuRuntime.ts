import * as v from 'valibot';

/**
 * `runtime.json` in a folder with a copy of onnxruntime that has the CUDA provider. Written last, so a folder with this
 * file is complete.
 */
export const gpuRuntimeSchema = v.looseObject({
	format: v.literal(1),
	/** Version of both onnxruntime-node and the provider. */
	onnxruntime: v.string(),
	/** File names in `lib`, in the order they must be loaded. */
	libraries: v.array(v.pipe(v.string(), v.regex(/^[\w.+-]+$/))),
	wheels: v.array(v.object({ name: v.string(), version: v.string(), sha256: v.string(), bytes: v.number() })),
	/** Creation time of the folder, in milliseconds. */
	created: v.number(),
});

export type GpuRuntimeRecord = v.InferOutput<typeof gpuRuntimeSchema>;
