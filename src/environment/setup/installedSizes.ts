/** Size of packages including their dependencies, in bytes (download and on disk), rounded up. */
interface Size {
	readonly download: number;
	readonly disk: number;
}

const mb = 1e6;

/**
 * Sizes by build. The CPU build was measured with torch 2.13 on Linux; the others are the listed file sizes, rounded
 * up.
 */
const torchSizes: Readonly<Record<string, Size>> = {
	cpu: { download: 230 * mb, disk: 850 * mb },
	mps: { download: 120 * mb, disk: 500 * mb },
	cuda: { download: 3000 * mb, disk: 6500 * mb },
	rocm: { download: 5000 * mb, disk: 17_000 * mb },
};

const packageSizes: Readonly<Record<string, Size>> = {
	trl: { download: 2 * mb, disk: 10 * mb },
	transformers: { download: 20 * mb, disk: 130 * mb },
	datasets: { download: 110 * mb, disk: 420 * mb },
	accelerate: { download: 1 * mb, disk: 5 * mb },
	peft: { download: 1 * mb, disk: 5 * mb },
	ray: { download: 130 * mb, disk: 420 * mb },
	vllm: { download: 1900 * mb, disk: 4600 * mb },
	bitsandbytes: { download: 70 * mb, disk: 190 * mb },
};

/** Baseline for an environment without packages; also used for each unknown package. */
const empty: Size = { download: 2 * mb, disk: 25 * mb };
const unknown: Size = { download: 1 * mb, disk: 4 * mb };

/** Returns the approximate size of an environment with these packages. @param build `cpu`, `cu130`, `auto`, `mps` */
export function installedSizes(packages: readonly string[], build: string): Size {
	const kind = build.startsWith('cu') ? 'cuda' : build === 'auto' || build.startsWith('rocm') ? 'rocm' : build;
	const sizes = packages.map((name) =>
		name === 'torch' ? (torchSizes[kind] ?? torchSizes.cuda ?? unknown) : (packageSizes[name] ?? unknown),
	);
	return [empty, ...sizes].reduce((sum, size) => ({
		download: sum.download + size.download,
		disk: sum.disk + size.disk,
	}));
}
