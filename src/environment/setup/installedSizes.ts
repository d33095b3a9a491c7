/** What packages with all that they bring along take, in bytes: to download, and on disk. Rounded up. */
interface Size {
	readonly download: number;
	readonly disk: number;
}

const mb = 1e6;

/** By build. For the processor measured with torch 2.13 on Linux; the others as their files are listed, rounded up. */
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

/** An environment without any package, and packages that are not known. */
const empty: Size = { download: 2 * mb, disk: 25 * mb };
const unknown: Size = { download: 1 * mb, disk: 4 * mb };

/** About what an environment with these packages takes. @param build `cpu`, `cu130`, `auto`, `mps` */
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
