import * as v from 'valibot';

/** A package as its metadata has it; null: it is not installed. */
const version = v.nullable(v.string());

/** What came of importing a package in a process of its own. */
export const importOutcomeSchema = v.looseObject({
	ok: v.boolean(),
	/** The last line of what was said: `ImportError: libcudart.so.13: ...`, `signal 11`, `longer than 60 s`. */
	error: v.optional(v.string()),
	seconds: v.optional(v.number()),
});
export type ImportOutcome = v.InferOutput<typeof importOutcomeSchema>;

export const torchGpuSchema = v.looseObject({
	name: v.string(),
	/** Bytes; null: the driver did not say. */
	total: v.nullable(v.number()),
	free: v.nullable(v.number()),
	/** `9.0`; null: not a CUDA GPU. */
	capability: v.nullable(v.string()),
});
export type TorchGpu = v.InferOutput<typeof torchGpuSchema>;

/** What torch itself says, after it was imported. */
export const torchFactsSchema = v.looseObject({
	version: v.string(),
	/** Of the build, `13.0`; null: another build. */
	cuda: v.nullable(v.string()),
	/** Of the build, `7.2`; null: another build. */
	rocm: v.nullable(v.string()),
	cudaAvailable: v.boolean(),
	/** Why CUDA or ROCm is not available although the build is for it. */
	cudaError: v.optional(v.nullable(v.string())),
	mpsAvailable: v.boolean(),
	bf16: v.nullable(v.boolean()),
	gpus: v.array(torchGpuSchema),
	/** GPU architectures of the build: `sm_90`, `gfx942`. */
	architectures: v.array(v.string()),
	threads: v.number(),
});
export type TorchFacts = v.InferOutput<typeof torchFactsSchema>;

/** What `reasoning_lab_trainer/environment/probe.py` prints: one object, whatever is broken in the environment. */
export const pythonProbeSchema = v.looseObject({
	format: v.literal(1),
	/** `3.11.7` */
	python: v.string(),
	executable: v.string(),
	/** `x86_64`, `arm64`: of the interpreter, which may run translated. */
	machine: v.string(),
	/** `linux`, `darwin`, `win32` */
	platform: v.string(),
	/** `glibc 2.36`; null where there is none, such as on musl. */
	libc: v.nullable(v.string()),
	bits: v.number(),
	/** Built without the global lock: most of what is needed has no such build. */
	freeThreaded: v.boolean(),
	/** Whether it is a virtual environment. */
	virtual: v.boolean(),
	prefix: v.string(),
	/** Whether `-m venv` can work; on some systems a package of its own. */
	venv: v.boolean(),
	/** Version of the pip that a new virtual environment gets; null: none. */
	ensurepip: version,
	/** By the name on the package index. */
	packages: v.record(v.string(), version),
	/** Metadata that could not be read: package to error. */
	broken: v.record(v.string(), v.string()),
	/** By name of the import; only those that were asked for. */
	imports: v.record(v.string(), importOutcomeSchema),
	/** null: not asked for, not installed, or its import failed. */
	torch: v.nullable(torchFactsSchema),
});
export type PythonProbe = v.InferOutput<typeof pythonProbeSchema>;

/** `environment.json` beside the managed environments: which one is in use. Written last, so what it names is whole. */
export const managedEnvironmentSchema = v.looseObject({
	format: v.literal(1),
	/** Name of its folder, in `environments`. */
	folder: v.pipe(v.string(), v.regex(/^[\w.-]{1,80}$/)),
	/** Of Reasoning Lab, when it was made. */
	version: v.string(),
	/** Seconds since 1970. */
	made: v.number(),
	python: v.string(),
	/** `cpu`, `cu130`, `auto`. */
	build: v.string(),
	installer: v.string(),
	extras: v.array(v.string()),
	/** Requirement lines that were asked for, with their pins. */
	pins: v.array(v.string()),
});
export type ManagedEnvironment = v.InferOutput<typeof managedEnvironmentSchema>;

/** `absent`: something optional is not installed. */
export const checkStatuses = ['ok', 'warning', 'error', 'unknown', 'absent'] as const;
export type CheckStatus = (typeof checkStatuses)[number];

/** One row of *Doctor*. */
export const checkRowSchema = v.object({
	/** `python`, `torch`, `gpu-0` */
	id: v.string(),
	/** "Python" */
	check: v.string(),
	status: v.picklist(checkStatuses),
	/** What there is, in one line. May quote what a program said. */
	found: v.string(),
	/** What to do about it; null: nothing. */
	action: v.nullable(v.string()),
});
export type CheckRow = v.InferOutput<typeof checkRowSchema>;

/** What `doctor --json` prints, a line each: progress, the rows, and at last the report without them. */
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

/** What *Doctor* reports. */
export interface DoctorReport {
	readonly format: 1;
	/** The interpreter that was looked at; null: none is chosen. */
	readonly python: string | null;
	/** Who names it. */
	readonly source: string | null;
	readonly rows: readonly CheckRow[];
	readonly seconds: number;
}
