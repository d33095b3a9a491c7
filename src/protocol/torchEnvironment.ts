import * as v from 'valibot';

/** Package version from its metadata; null if not installed. */
const version = v.nullable(v.string());

/** Result of importing a package in a separate process. */
export const importOutcomeSchema = v.looseObject({
	ok: v.boolean(),
	/** Last line of output: `ImportError: libcudart.so.13: ...`, `signal 11`, `longer than 60 s`. */
	error: v.optional(v.string()),
	seconds: v.optional(v.number()),
});

export const torchGpuSchema = v.looseObject({
	name: v.string(),
	/** Total memory in bytes; null if the driver does not report it. */
	total: v.nullable(v.number()),
	free: v.nullable(v.number()),
	/** `9.0`; null if not a CUDA GPU. */
	capability: v.nullable(v.string()),
});

/** Information that torch reports about itself after import. */
export const torchFactsSchema = v.looseObject({
	version: v.string(),
	/** CUDA version of the build, `13.0`; null for other builds. */
	cuda: v.nullable(v.string()),
	/** ROCm version of the build, `7.2`; null for other builds. */
	rocm: v.nullable(v.string()),
	cudaAvailable: v.boolean(),
	/** Why CUDA or ROCm is unavailable even though the build supports it. */
	cudaError: v.optional(v.nullable(v.string())),
	mpsAvailable: v.boolean(),
	bf16: v.nullable(v.boolean()),
	gpus: v.array(torchGpuSchema),
	/** GPU architectures that the build supports: `sm_90`, `gfx942`. */
	architectures: v.array(v.string()),
	threads: v.number(),
});
export type TorchFacts = v.InferOutput<typeof torchFactsSchema>;

/**
 * Output of `reasoning_lab_trainer/environment/probe.py`: a single object, no matter what is broken in the environment.
 */
export const pythonProbeSchema = v.looseObject({
	format: v.literal(1),
	/** `3.11.7` */
	python: v.string(),
	executable: v.string(),
	/** `x86_64`, `arm64`: architecture of the interpreter, which may run under emulation. */
	machine: v.string(),
	/** `linux`, `darwin`, `win32` */
	platform: v.string(),
	/** `glibc 2.36`; null if there is none, such as on musl. */
	libc: v.nullable(v.string()),
	bits: v.number(),
	/** Whether the interpreter is built without the GIL; most required packages have no such build. */
	freeThreaded: v.boolean(),
	/** Whether it is a virtual environment. */
	virtual: v.boolean(),
	prefix: v.string(),
	/** Whether `-m venv` works; on some systems it is a separate package. */
	venv: v.boolean(),
	/** pip version in new virtual environments; null if there is none. */
	ensurepip: version,
	/** Versions, keyed by package name on the index. */
	packages: v.record(v.string(), version),
	/** Errors for packages with unreadable metadata, by package. */
	broken: v.record(v.string(), v.string()),
	/** Results by import name, only for the requested imports. */
	imports: v.record(v.string(), importOutcomeSchema),
	/** null if not requested, not installed, or the import failed. */
	torch: v.nullable(torchFactsSchema),
});
export type PythonProbe = v.InferOutput<typeof pythonProbeSchema>;

/**
 * `environment.json`, stored next to the managed environments, identifies the one in use. It is written last,
 * so the environment that it names is complete.
 */
export const managedEnvironmentSchema = v.looseObject({
	format: v.literal(1),
	/** Folder name within `environments`. */
	folder: v.pipe(v.string(), v.regex(/^[\w.-]{1,80}$/)),
	/** Version of Reasoning Lab that created the environment. */
	version: v.string(),
	/** Unix time in seconds. */
	made: v.number(),
	python: v.string(),
	/** `cpu`, `cu130`, `auto`. */
	build: v.string(),
	installer: v.string(),
	extras: v.array(v.string()),
	/** Requirement lines that were requested, with their pins. */
	pins: v.array(v.string()),
});
export type ManagedEnvironment = v.InferOutput<typeof managedEnvironmentSchema>;

/** `absent`: an optional component is not installed. */
export const checkStatuses = ['ok', 'warning', 'error', 'unknown', 'absent'] as const;
export type CheckStatus = (typeof checkStatuses)[number];

/** One row of the *Doctor* report. */
export const checkRowSchema = v.object({
	/** `python`, `torch`, `gpu-0` */
	id: v.string(),
	/** "Python" */
	check: v.string(),
	status: v.picklist(checkStatuses),
	/** One-line description of what was found. Can quote program output. */
	found: v.string(),
	/** How to fix it; null if nothing needs fixing. */
	action: v.nullable(v.string()),
});
export type CheckRow = v.InferOutput<typeof checkRowSchema>;

/** Output of `doctor --json`, one object per line: progress, the rows, and finally the report without rows. */
export const doctorLineSchema = v.variant('kind', [
	v.object({ kind: v.literal('progress'), message: v.string() }),
	v.object({ kind: v.literal('row'), ...checkRowSchema.entries }),
	v.looseObject({
		kind: v.literal('report'),
		python: v.nullable(v.string()),
		source: v.nullable(v.string()),
		seconds: v.number(),
	}),
]);

/** Report of the *Doctor* command. */
export interface DoctorReport {
	readonly format: 1;
	/** The interpreter that was checked; null if none is selected. */
	readonly python: string | null;
	/** The setting or other source that specified the interpreter. */
	readonly source: string | null;
	readonly rows: readonly CheckRow[];
	readonly seconds: number;
}
