import { runProgram } from '../../processes/runProgram.ts';

/** Package versions available from an index for one interpreter, newest first; null if the query failed. */
export type OfferedVersions = readonly string[] | null;

/** Timeout for querying an index, in milliseconds. */
const limitMs = 60_000;

/** Runs the interpreter's pip or, if it has none, the pip bundled with ensurepip. */
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
 * Returns the versions of a package that are available to an interpreter, given its platform tags and a setup's index
 * and pip arguments. Downloads only the index page.
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

/**
 * Parses the line "Available versions: 2.14.0, 2.13.0+cpu" from `pip index versions`. Returns null if there is none.
 */
export function parseVersions(text: string): OfferedVersions {
	const line = /^\s*Available versions: (.*)$/m.exec(text)?.[1];
	return line === undefined ? null : line.split(',').map((version) => version.trim());
}

/** The torch build that pip would install. */
export interface TakenTorch {
	/** Requirement that selects this build. */
	readonly pin: string;
	/** Whether the version includes the build label, so that no other build can be installed. */
	readonly named: boolean;
	/** Build, in the same format as `TorchBuild.backend`; null if the index could not be queried. */
	readonly backend: string | null;
}

/**
 * Determines which build of a pinned torch version an index provides.
 * @param pin `torch==2.13.0` @param wanted the build that matches the machine, such as `cpu` @param usual the build
 * that a version without a label contains
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
	// pip prefers a version with a label to the same version without one.
	const labeled = offered.find((each) => each.startsWith(`${version}+`));
	if (labeled !== undefined) return { pin, named: true, backend: labeled.slice(version.length + 1) };
	return { pin, named: false, backend: offered.includes(version) ? usual : null };
}
