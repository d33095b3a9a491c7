import * as v from 'valibot';

/** Part of the JSON output from `docker info` and `podman info`. */
const infoSchema = v.object({
	MemoryLimit: v.optional(v.boolean()),
	PidsLimit: v.optional(v.boolean()),
	SecurityOptions: v.optional(v.nullable(v.array(v.string()))),
	host: v.optional(
		v.object({
			cgroupControllers: v.optional(v.nullable(v.array(v.string()))),
			security: v.optional(v.object({ seccompEnabled: v.optional(v.boolean()) })),
		}),
	),
});

/**
 * Returns the protections that a container engine reports as missing on this machine. If the kernel cannot enforce a
 * limit, the engine accepts it anyway with only a warning. Anything that the engine does not report counts as missing.
 */
export function containerGaps(info: string): string[] {
	let said: v.InferOutput<typeof infoSchema> = {};
	try {
		const decoded = v.safeParse(infoSchema, JSON.parse(info));
		if (decoded.success) said = decoded.output;
	} catch {
		// Nothing is known in that case.
	}
	const { host } = said;
	const controllers = host?.cgroupControllers ?? undefined;
	const filter = said.SecurityOptions?.some((option) => /^name=seccomp/.test(option) && !/unconfined/.test(option));
	const protections: readonly (readonly [name: string, there: boolean | undefined])[] = [
		['a memory limit', said.MemoryLimit ?? controllers?.includes('memory')],
		['a process limit', said.PidsLimit ?? controllers?.includes('pids')],
		['a system call filter', filter ?? host?.security?.seccompEnabled],
	];
	return protections.flatMap(([name, there]) =>
		there === true ? [] : [there === false ? name : `${name} (not reported by the engine)`],
	);
}

const imageSchema = v.tuple([
	v.object({ Config: v.nullish(v.object({ Volumes: v.nullish(v.record(v.string(), v.unknown())) })) }),
]);

/** Returns the volumes that an image declares, from the output of `docker image inspect`, or null if unknown. */
export function imageVolumes(inspected: string): string[] | null {
	try {
		const decoded = v.safeParse(imageSchema, JSON.parse(inspected));
		return decoded.success ? Object.keys(decoded.output[0].Config?.Volumes ?? {}) : null;
	} catch {
		return null;
	}
}
