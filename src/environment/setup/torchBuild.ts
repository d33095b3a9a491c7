import { Failure } from '../../base/failure.ts';
import type { TorchFacts } from '../../protocol/torchEnvironment.ts';
import { atLeast, type MachineFacts, versionNumbers } from '../machine/machineFacts.ts';

/** Requested device; `auto` selects one based on the hardware. */
export const deviceWishes = ['auto', 'cpu', 'cuda', 'rocm'] as const;
export type DeviceWish = (typeof deviceWishes)[number];

/** A torch build. */
export interface TorchBuild {
	readonly kind: 'cpu' | 'cuda' | 'rocm' | 'mps';
	/** Value for uv's `--torch-backend`: `cpu`, `cu130`, `auto`; null if the system has only one build. */
	readonly backend: string | null;
	/** Description, such as "the CUDA 13.0 build". */
	readonly words: string;
	/** Explanations for the user if this is not the expected build. */
	readonly notes: readonly string[];
}

/**
 * CUDA builds of the pinned torch version, best first, with the minimum driver (NVIDIA, "CUDA Compatibility", minor
 * version compatibility) and the compute capabilities each was compiled for.
 */
export const cudaBuilds = [
	{ backend: 'cu130', cuda: '13.0', driver: { linux: '580', win32: '580' }, min: 7.5, max: 99 },
	{ backend: 'cu129', cuda: '12.9', driver: { linux: '570', win32: '570' }, min: 7.5, max: 99 },
	{ backend: 'cu126', cuda: '12.6', driver: { linux: '525.60.13', win32: '528.33' }, min: 5, max: 9 },
] as const;

const oneBuild = 'the build for this system';

/**
 * Selects a build. Fails with `unsupported` if PyTorch has no build for the system or no build for the requested
 * device.
 */
export function chooseTorchBuild(machine: MachineFacts, wish: DeviceWish = 'auto'): TorchBuild {
	const { platform, arch, nvidia, rocm } = machine;
	if (platform === 'darwin') {
		if (arch !== 'arm64') {
			throw new Failure('unsupported', 'PyTorch does not support Macs with Intel processors.', 'Use another machine.');
		}
		if (wish === 'cuda' || wish === 'rocm') {
			throw new Failure('unsupported', `PyTorch has no ${wish.toUpperCase()} build for macOS.`, 'Use auto or cpu.');
		}
		return { kind: wish === 'cpu' ? 'cpu' : 'mps', backend: null, words: oneBuild, notes: [] };
	}
	if (platform !== 'linux' && platform !== 'win32') {
		throw new Failure('unsupported', `PyTorch does not support ${platform}.`, 'Use Linux, Windows, or macOS.');
	}
	if (wish === 'cuda') return cudaBuild(machine, platform, true);
	if (wish === 'rocm') {
		if (platform !== 'linux') throw new Failure('unsupported', 'PyTorch has no ROCm build for Windows.', 'Use auto.');
		return rocmBuild(rocm === null ? ['ROCm was not found on this machine.'] : []);
	}
	if (wish === 'auto' && nvidia !== null && nvidia.driver !== '') return cudaBuild(machine, platform, false);
	if (wish === 'auto' && rocm !== null && rocm.gpus.length > 0) return rocmBuild([]);
	const notes = rocm !== null && wish === 'auto' ? ['ROCm is installed but does not list a GPU.'] : [];
	return cpuBuild(notes);
}

function cpuBuild(notes: readonly string[]): TorchBuild {
	return { kind: 'cpu', backend: 'cpu', words: 'the CPU build', notes };
}

function rocmBuild(notes: readonly string[]): TorchBuild {
	return { kind: 'rocm', backend: 'auto', words: 'the ROCm build for this GPU', notes };
}

function cudaBuild({ nvidia }: MachineFacts, platform: 'linux' | 'win32', insisted: boolean): TorchBuild {
	const [newest] = cudaBuilds;
	const driver = nvidia?.driver ?? '';
	if (driver === '') {
		// The environment may be intended for another machine, such as a cluster node.
		return build(newest, ['No NVIDIA driver was found on this machine.']);
	}
	const capabilities = (nvidia?.gpus ?? []).flatMap(({ capability }) =>
		capability === null ? [] : [Number(versionNumbers(capability).slice(0, 2).join('.'))],
	);
	const fits = cudaBuilds.filter((candidate) => atLeast(driver, candidate.driver[platform]));
	const chosen = fits.find(({ min, max }) =>
		capabilities.every((capability) => capability >= min && Math.floor(capability) <= max),
	);
	if (chosen !== undefined) {
		const notes =
			chosen === newest
				? []
				: [`NVIDIA driver ${driver} and the GPUs are compatible with the CUDA ${chosen.cuda} build.`];
		return build(chosen, notes);
	}
	const min = cudaBuilds.at(-1)?.driver[platform];
	const why =
		fits.length === 0
			? `The NVIDIA driver ${driver} is too old for any CUDA build; the minimum is ${min}.`
			: `No CUDA build supports all GPUs in this machine (compute capability ${capabilities.join(', ')}).`;
	if (insisted) throw new Failure('unsupported', why, fits.length === 0 ? 'Update the driver.' : 'Use cpu.');
	return cpuBuild([`${why} Training will use the CPU.`]);
}

function build({ backend, cuda }: (typeof cudaBuilds)[number], notes: readonly string[]): TorchBuild {
	return { kind: 'cuda', backend, words: `the CUDA ${cuda} build`, notes };
}

/** Describes a build by its backend: `cpu`, `cu130`, `rocm7.2`. */
export function buildWords(backend: string): string {
	if (backend === 'cpu') return 'the CPU build';
	const cuda = /^cu(\d+)(\d)$/.exec(backend);
	if (cuda !== null) return `the CUDA ${cuda[1]}.${cuda[2]} build`;
	return backend.startsWith('rocm') ? 'the ROCm build' : `the build "${backend}"`;
}

/** Returns the build reported by the installed torch: `cpu`, `cu130`, `rocm7.2`. */
export function installedBuild({ cuda, rocm }: Pick<TorchFacts, 'cuda' | 'rocm'>): string {
	if (cuda !== null) return `cu${cuda.replaceAll('.', '')}`;
	return rocm === null ? 'cpu' : `rocm${rocm.split('.').slice(0, 2).join('.')}`;
}

/** Returns a note for the user if the installed build differs from the planned one, or null if they match. */
export function buildNote(planned: TorchBuild, torch: Pick<TorchFacts, 'cuda' | 'rocm'>): string | null {
	// macOS has only one build.
	if (planned.backend === null) return null;
	const got = installedBuild(torch);
	const fits = planned.kind === 'rocm' ? got.startsWith('rocm') : got === planned.backend;
	if (fits) return null;
	const effect =
		planned.kind === 'cpu'
			? 'It works on the CPU but needs several more gigabytes of disk space.'
			: got === 'cpu'
				? 'Training will use the CPU, not the GPU.'
				: 'Run Doctor to check whether it works with the GPUs in this machine.';
	return `The package index provided ${buildWords(got)} of torch instead of ${planned.words}. ${effect}`;
}

/** Returns the build that pip installs from any index except PyTorch's own. */
export function indexBuild({ platform }: MachineFacts): string | null {
	return platform === 'linux' ? 'cu130' : platform === 'win32' ? 'cpu' : null;
}
