import { Failure } from '../../base/failure.ts';
import { onnxruntimeVersion } from '../../runs/gpuRuntimeFolder.ts';
import { atLeast } from '../machine/machineFacts.ts';
import { type OfferedWheel, offeredWheels, type PackageIndexAccess, request } from './packageIndex.ts';

/** A package that contains part of the CUDA provider. */
export interface NeededPackage {
	readonly name: string;
	/** Exact version, or the acceptable major version. */
	readonly version: string;
	/** Names of the files to extract from the wheel, in load order. */
	readonly files: readonly string[];
	/** Destination of the files: next to the runtime's library, which loads them itself, or in the library folder. */
	readonly place: 'runtime' | 'libraries';
}

/**
 * The provider and the libraries that it links to (`DT_NEEDED` of libonnxruntime_providers_cuda.so 1.30.0), except for
 * the driver. A library must be loaded after the ones it needs.
 */
export const neededPackages: readonly NeededPackage[] = [
	{
		name: 'onnxruntime-gpu',
		version: onnxruntimeVersion,
		files: ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'],
		place: 'runtime',
	},
	{ name: 'nvidia-cuda-runtime', version: '13', files: ['libcudart.so.13'], place: 'libraries' },
	{ name: 'nvidia-cublas', version: '13', files: ['libcublasLt.so.13', 'libcublas.so.13'], place: 'libraries' },
	{ name: 'nvidia-curand', version: '10', files: ['libcurand.so.10'], place: 'libraries' },
];

/** Minimum version of the NVIDIA driver for CUDA 13. */
export const minDriver = '580';

export interface PlannedWheel extends OfferedWheel {
	readonly package: NeededPackage;
	readonly sha256: string;
	readonly bytes: number;
}

/** Returns the newest suitable wheel of each package, with sizes. Downloads only index pages. */
export async function planWheels(index: PackageIndexAccess, signal?: AbortSignal): Promise<PlannedWheel[]> {
	return Promise.all(
		neededPackages.map(async (needed) => {
			const offered = await offeredWheels(index, needed.name, signal);
			const best = bestWheel(offered, needed);
			if (best === null) {
				const wanted = `${needed.name} ${needed.version}`;
				throw new Failure('missing', `The package index has no wheel for ${wanted} on Linux x64.`);
			}
			if (best.sha256 === null) {
				throw new Failure('unsupported', `The package index does not include the SHA-256 hash of ${best.file}.`);
			}
			return {
				...best,
				package: needed,
				sha256: best.sha256,
				bytes: best.bytes ?? (await sizeOf(best, index, signal)),
			};
		}),
	);
}

/**
 * Returns the newest wheel for Linux x64 with an acceptable version. Provider files are the same for all Python
 * versions.
 */
export function bestWheel(offered: readonly OfferedWheel[], needed: NeededPackage): OfferedWheel | null {
	const fits = offered.filter(({ file, version }) => {
		const accepted = version === needed.version || version.startsWith(`${needed.version}.`);
		return accepted && /^\d+(\.\d+)*$/.test(version) && /manylinux\w*_x86_64\.whl$/.test(file);
	});
	return fits.reduce<OfferedWheel | null>(
		(best, wheel) => (best === null || !atLeast(best.version, wheel.version) ? wheel : best),
		null,
	);
}

async function sizeOf({ url, file }: OfferedWheel, index: PackageIndexAccess, signal?: AbortSignal): Promise<number> {
	const init = { method: 'HEAD', ...(signal === undefined ? {} : { signal }) };
	const size = Number((await request(url, init, file, index)).headers.get('content-length') ?? Number.NaN);
	if (Number.isInteger(size) && size > 0) return size;
	throw new Failure('unsupported', `The server did not report the size of ${file}.`);
}
