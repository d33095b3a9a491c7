import { runProgram } from '../../processes/runProgram.ts';

/** What a package index has of a package for one interpreter, newest first; null: it could not be asked. */
export type OfferedVersions = readonly string[] | null;

/** How long an index may take to answer, in milliseconds. */
const limitMs = 60_000;

/** pip of the interpreter, else the one that it would give to a virtual environment. */
const runPip = `
import glob, os, runpy, sys
try:
    import pip
except ImportError:
    import ensurepip
    places = [os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"), getattr(ensurepip, "_WHEEL_PKG_DIR", None)]
    wheels = [w for place in places if place for w in sorted(glob.glob(os.path.join(place, "pip-*.whl")))]
    sys.path.insert(0, wheels[-1])
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
`;

/**
 * The versions of a package that pip sees with an interpreter, by the index and the arguments that a setup would use: which
 * builds there are depends on the interpreter. Downloads nothing but the index's page.
 */
export async function offeredVersions(
	python: string,
	name: string,
	options: {
		readonly pipArguments: readonly string[];
		readonly environment: Readonly<Record<string, string | undefined>>;
		readonly signal?: AbortSignal | undefined;
	},
): Promise<OfferedVersions> {
	const { pipArguments, environment, signal } = options;
	const asked = ['index', 'versions', name, '--no-input', '--disable-pip-version-check', '--retries', '1'];
	const result = await runProgram(python, ['-c', runPip, ...asked, ...pipArguments], {
		environment: { ...environment, PYTHONNOUSERSITE: '1' },
		limitMs,
		...(signal === undefined ? {} : { signal }),
	}).catch(() => null);
	signal?.throwIfAborted();
	return result === null || result.code !== 0 ? null : parseVersions(result.stdout);
}

/** The line "Available versions: 2.14.0, 2.13.0+cpu" of `pip index versions`; null: there is none. */
export function parseVersions(text: string): OfferedVersions {
	const line = /^\s*Available versions: (.*)$/m.exec(text)?.[1];
	return line === undefined ? null : line.split(',').map((version) => version.trim());
}

/** What pip would install of torch. */
export interface TakenTorch {
	/** The requirement that names it. */
	readonly pin: string;
	/** Its version names its build: another is not to be expected. */
	readonly named: boolean;
	/** Its build as `TorchBuild.backend` has it; null: the index could not be asked. */
	readonly backend: string | null;
}

/**
 * Which build of a pinned torch an index gives.
 * @param pin `torch==2.13.0` @param wanted the build that fits the machine, `cpu` @param usual the build of a version without a label
 */
export function takenTorch(
	offered: OfferedVersions,
	{ pin, wanted, usual }: { readonly pin: string; readonly wanted: string; readonly usual: string | null },
): TakenTorch {
	const version = /==(.+)$/.exec(pin)?.[1];
	if (offered === null || version === undefined) return { pin, named: false, backend: null };
	if (offered.includes(`${version}+${wanted}`)) {
		return { pin: `${pin}+${wanted}`, named: true, backend: wanted };
	}
	// pip prefers a version with a label to the same one without.
	const labelled = offered.find((each) => each.startsWith(`${version}+`));
	if (labelled !== undefined) return { pin, named: true, backend: labelled.slice(version.length + 1) };
	return { pin, named: false, backend: offered.includes(version) ? usual : null };
}
