import { cp, mkdir, open, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { formatBytes } from '../../base/format.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { FileLock } from '../../files/fileLock.ts';
import { OpenedFile } from '../../files/openedFile.ts';
import { ZipArchive } from '../../files/zipArchive.ts';
import { findNvidia, type NvidiaFacts } from '../../processes/nvidia.ts';
import type { GpuRuntimeRecord } from '../../protocol/gpuRuntime.ts';
import { type GpuRuntimeFolder, onnxruntimeVersion } from '../../runs/gpuRuntimeFolder.ts';
import { freeDisk } from '../machine/freeDisk.ts';
import { atLeast } from '../machine/machineFacts.ts';
import { findPythons } from '../pythons/findPythons.ts';
import { removeFolder } from '../setup/unusedEnvironments.ts';
import { download } from './download.ts';
import { minDriver, type PlannedWheel, planWheels } from './gpuWheels.ts';
import { indexAccess, indexOfPip, type PackageIndexAccess } from './packageIndex.ts';

export interface GpuSetupOptions {
	readonly folder: GpuRuntimeFolder;
	/** Package index; null to use pip's. */
	readonly indexUrl: string | null;
	/** Set up even if this machine has no NVIDIA GPU, for example to build an image. */
	readonly withoutGpu: boolean;
	/** Folder of the installed onnxruntime-node; defaults to the one that this program would load. */
	readonly installed?: string;
	readonly signal?: AbortSignal;
}

export interface GpuSetupPlan {
	/** Name of the GPU; null if there is none. */
	readonly gpu: string | null;
	readonly index: PackageIndexAccess;
	readonly wheels: readonly PlannedWheel[];
	/** Total size of the wheels. */
	readonly bytes: number;
	readonly folder: string;
}

export interface GpuSetupProgress {
	readonly message: string;
	/** Fraction completed, 0 to 1. */
	readonly fraction: number;
}

/** Approximate ratio of a library's size to the size of its wheel. */
const unpackedRatio = 1.6;
/** Fraction of the total progress that downloads account for. */
const downloadShare = 0.9;

/** Plans the setup without downloading packages. Fails with `unsupported` if the machine cannot use CUDA. */
export async function planGpuSetup({ folder, indexUrl, withoutGpu, signal }: GpuSetupOptions): Promise<GpuSetupPlan> {
	if (process.platform !== 'linux' || process.arch !== 'x64') {
		throw new Failure(
			'unsupported',
			`The embedded engine supports CUDA on Linux x64, not on ${process.platform} ${process.arch}.`,
			'It uses this machine\'s GPU through other providers: see "Embedded" in Doctor.',
		);
	}
	const nvidia = await findNvidia(signal);
	const gpu = usableGpu(nvidia);
	if (gpu instanceof Failure && !withoutGpu) throw gpu;
	const index = indexAccess(indexUrl ?? (await defaultIndex(signal)));
	const wheels = await planWheels(index, signal);
	const bytes = wheels.reduce((sum, wheel) => sum + wheel.bytes, 0);
	return { gpu: gpu instanceof Failure ? null : gpu, index, wheels, bytes, folder: folder.runtime };
}

/** Returns the name of a GPU that can run CUDA 13, or the reason there is none. */
export function usableGpu(nvidia: NvidiaFacts | null): string | Failure {
	const [first] = nvidia?.gpus ?? [];
	if (nvidia === null || first === undefined) {
		const why = nvidia?.error ? ` (${nvidia.error})` : '';
		return new Failure(
			'unsupported',
			`No NVIDIA GPU was found on this machine${why}.`,
			'If it has one, install the driver. Other GPUs do not need this setup, because the embedded engine uses them through WebGPU.',
		);
	}
	if (nvidia.driver !== '' && !atLeast(nvidia.driver, minDriver)) {
		return new Failure(
			'unsupported',
			`The NVIDIA driver ${nvidia.driver} is too old for CUDA 13, which needs ${minDriver} or newer.`,
			'Update the driver.',
		);
	}
	return first.name;
}

async function defaultIndex(signal?: AbortSignal): Promise<string> {
	const [best] = await findPythons(signal === undefined ? {} : { signal });
	if (best === undefined) {
		throw new Failure(
			'missing',
			'Cannot determine the package index, because this machine has no Python installation with pip.',
			'Specify an index with --index-url.',
		);
	}
	return indexOfPip(best.path, signal);
}

/**
 * Downloads the CUDA provider and its libraries, and creates a copy of the runtime that uses them, leaving the
 * installed runtime unchanged. An interrupted setup keeps its downloads, and the next one resumes them. Fails with
 * `busy` if another setup is running, with `full` or `cancelled`, or with the error of a failed download.
 */
export async function setUpGpu(
	options: GpuSetupOptions,
	plan: GpuSetupPlan,
	onProgress: (progress: GpuSetupProgress) => void = () => undefined,
): Promise<GpuRuntimeRecord> {
	const { folder } = options;
	const lock = await takeLock(folder);
	const building = `${folder.runtime}.building`;
	try {
		await rm(building, { recursive: true, force: true });
		await requireDisk(folder, plan.bytes);
		await ensureFolder(folder.downloads);
		const paths = await downloadAll(options, plan, onProgress);
		await copyRuntime(options.installed ?? installedRuntime(), building);
		const record = await unpackAll(plan, paths, building, options.signal, onProgress);
		await writeFileAtomic(join(building, basename(folder.recordFile)), `${JSON.stringify(record, null, '\t')}\n`);
		if (!(await removeFolder(folder.runtime))) throw inUse();
		await rename(building, folder.runtime);
		await rm(folder.downloads, { recursive: true, force: true });
		return record;
	} catch (error) {
		await rm(building, { recursive: true, force: true }).catch(() => undefined);
		throw Failure.from(error, 'Setting up the GPU failed');
	} finally {
		await lock.release();
	}
}

/** Removes this version's runtime and its downloads. Fails with `busy`. */
export async function removeGpu(folder: GpuRuntimeFolder): Promise<void> {
	const lock = await takeLock(folder);
	try {
		if (!(await removeFolder(folder.runtime))) throw inUse();
		await rm(folder.downloads, { recursive: true, force: true });
		await rm(`${folder.runtime}.building`, { recursive: true, force: true });
	} finally {
		await lock.release();
	}
}

function inUse(): Failure {
	return new Failure('busy', 'The CUDA runtime is in use by a running process.', 'Stop the runs that are using it.');
}

async function takeLock(folder: GpuRuntimeFolder): Promise<FileLock> {
	await ensureFolder(folder.path);
	return FileLock.acquire(folder.lock, 'The GPU setup');
}

async function requireDisk(folder: GpuRuntimeFolder, bytes: number): Promise<void> {
	const needed = bytes * (1 + unpackedRatio);
	const free = await freeDisk(folder.path);
	if (free === null || free >= needed) return;
	throw new Failure(
		'full',
		`Setup needs about ${formatBytes(needed)} in ${folder.path}, but only ${formatBytes(free)} is free.`,
		'Free up disk space, or set REASONING_LAB_HOME to another folder.',
	);
}

/** Downloads the wheels one after another. Returns their paths. */
async function downloadAll(
	{ folder, signal }: GpuSetupOptions,
	{ wheels, bytes, index }: GpuSetupPlan,
	onProgress: (progress: GpuSetupProgress) => void,
): Promise<string[]> {
	const paths: string[] = [];
	let before = 0;
	for (const wheel of wheels) {
		const path = join(folder.downloads, wheel.sha256);
		const message = `Downloading ${wheel.package.name} ${wheel.version} (${formatBytes(wheel.bytes)})`;
		const report = (have: number) => onProgress({ message, fraction: (downloadShare * (before + have)) / bytes });
		const known = await OpenedFile.chosen(path).catch(() => null);
		const whole = known?.size === wheel.bytes;
		await known?.close();
		// A file gets its final name only after passing the hash check.
		if (!whole) await download(wheel, path, index, { onBytes: report, ...(signal === undefined ? {} : { signal }) });
		before += wheel.bytes;
		report(0);
		paths.push(path);
	}
	return paths;
}

/** Returns the folder of the onnxruntime-node that this program would load. */
function installedRuntime(): string {
	return dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
}

/** Copies onnxruntime-node with its library for this platform, and the package that it depends on. */
async function copyRuntime(installed: string, folder: string): Promise<void> {
	const { version } = createRequire(import.meta.url)(join(installed, 'package.json')) as { version?: unknown };
	if (version !== onnxruntimeVersion) {
		throw new Failure('version', `The installed onnxruntime-node is ${version}, not ${onnxruntimeVersion}.`);
	}
	const own = join('bin', 'napi-v6', process.platform, process.arch);
	const modules = join(folder, 'node_modules');
	for (const part of ['package.json', 'dist', own]) {
		await cp(join(installed, part), join(modules, 'onnxruntime-node', part), { recursive: true });
	}
	const common = join(dirname(installed), 'onnxruntime-common');
	for (const part of ['package.json', 'dist']) {
		await cp(join(common, part), join(modules, 'onnxruntime-common', part), { recursive: true });
	}
}

async function unpackAll(
	{ wheels }: GpuSetupPlan,
	paths: readonly string[],
	folder: string,
	signal: AbortSignal | undefined,
	onProgress: (progress: GpuSetupProgress) => void,
): Promise<GpuRuntimeRecord> {
	const places = {
		runtime: join(folder, 'node_modules', 'onnxruntime-node', 'bin', 'napi-v6', process.platform, process.arch),
		libraries: join(folder, 'lib'),
	};
	await mkdir(places.libraries, { recursive: true });
	for (const [i, wheel] of wheels.entries()) {
		const { name, files, place } = wheel.package;
		const fraction = downloadShare + ((1 - downloadShare) * i) / wheels.length;
		onProgress({ message: `Unpacking ${name} ${wheel.version}`, fraction });
		await unpack(paths[i] as string, wheel.file, files, places[place], signal);
	}
	onProgress({ message: 'Finishing', fraction: 1 });
	return {
		format: 1,
		onnxruntime: onnxruntimeVersion,
		libraries: wheels.flatMap(({ package: { place, files } }) => (place === 'libraries' ? files : [])),
		wheels: wheels.map(({ package: { name }, version, sha256, bytes }) => ({ name, version, sha256, bytes })),
		created: Date.now(),
	};
}

/** Extracts files from a wheel by name, regardless of their folders. */
async function unpack(
	wheel: string,
	name: string,
	files: readonly string[],
	target: string,
	signal?: AbortSignal,
): Promise<void> {
	const source = await OpenedFile.chosen(wheel);
	try {
		const archive = await ZipArchive.open(source);
		for (const file of files) {
			const member = archive.members.find((one) => basename(one.name) === file);
			if (member === undefined) throw new Failure('missing', `${name} does not contain ${file}.`);
			const output = await open(join(target, file), 'wx', 0o755);
			try {
				for await (const piece of archive.pieces(member)) {
					if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
					await output.write(piece);
				}
			} catch (error) {
				if (error instanceof Failure) throw error;
				throw Failure.from(error, `Cannot unpack ${file} from ${name}`);
			} finally {
				await output.close();
			}
		}
	} finally {
		await source.close();
	}
}
