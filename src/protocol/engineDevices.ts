import * as v from 'valibot';

/** What the embedded engine prints for `--devices`. */
export const engineDevicesSchema = v.object({
	devices: v.array(v.object({ provider: v.string(), error: v.nullable(v.string()) })),
});

/** A GPU provider of the embedded engine; `error`: why it cannot be used. */
export type EngineDevice = v.InferOutput<typeof engineDevicesSchema>['devices'][number];
