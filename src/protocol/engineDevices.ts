import * as v from 'valibot';

/** Output of the embedded engine for `--devices`. */
export const engineDevicesSchema = v.object({
	devices: v.array(
		v.object({
			provider: v.string(),
			error: v.nullable(v.string()),
			faulty: v.boolean(),
			adapter: v.nullable(v.string()),
		}),
	),
});

/**
 * A GPU provider for the embedded engine. `error` says why the provider cannot be used. `faulty` is true if its results
 * differ from the CPU's. `adapter` is the name of the GPU or software driver, or null if it is unknown or was not opened.
 */
export type EngineDevice = v.InferOutput<typeof engineDevicesSchema>['devices'][number];
