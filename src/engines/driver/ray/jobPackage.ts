import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { openNamed, openRegular } from '../../../files/safeFile.ts';
import { runFiles } from '../../../runs/runFiles.ts';
import type { ClusterPlace } from './clusterPlace.ts';
import { mapRecipePaths } from './recipePaths.ts';
import { type ZipEntry, zipArchive } from './zipArchive.ts';

/**
 * Placeholder for the job's data folder, which only the job knows. Replaced in `reasoning_lab_trainer/ray/place.py`.
 */
export const dataPlaceholder = '{{data}}';

/** Maximum size of data and models sent with the job, in bytes. Ray accepts packages of up to 500 MB. */
const maxPacked = 128 << 20;

/** A file or folder named in a recipe, either packed into the job or expected at the same path on the cluster. */
export interface JobAsset {
	/** Absolute path on this machine. */
	readonly origin: string;
	/** Path below `data/`, such as `0/train.jsonl`, or null if the asset is too large to send. */
	readonly packed: string | null;
	readonly bytes: number;
}

/** Job description, stored as job.json in the package. Read by `reasoning_lab_trainer/ray/settings.py`. */
export interface JobSettings {
	readonly format: 1;
	readonly id: string;
	readonly submission: string;
	readonly place: { readonly storage: string; readonly named: boolean; readonly nonce: string };
	readonly resume: boolean;
	/** Checkpoint of another run to start from, as a path with {@link dataPlaceholder} or a local path. */
	readonly parentCheckpoint: string | null;
	readonly workers: number;
	readonly cpusPerWorker: number;
	readonly gpusPerWorker: number;
	readonly restarts: number;
	readonly assets: readonly JobAsset[];
}

export interface JobPackage {
	/** Content-based name, as Ray uses for packages: `_ray_pkg_<hash>.zip`. */
	readonly name: string;
	readonly bytes: Buffer;
}

export interface PackageOptions {
	readonly run: string;
	readonly id: string;
	readonly submission: string;
	readonly recipe: ResolvedRecipe;
	readonly place: ClusterPlace;
	readonly resume: boolean;
	readonly parentCheckpoint: string | null;
	/** The extension's dist/ folder. */
	readonly dist: string;
	/** Returns additional files, generated from the recipe with the data paths on the cluster. */
	readonly extra?: (recipe: ResolvedRecipe) => Promise<readonly ZipEntry[]>;
}

/**
 * Builds the package with everything a job needs: trainer, driver, reward workers, recipe, reward copies and local
 * data.
 */
export async function jobPackage(options: PackageOptions): Promise<JobPackage> {
	const { run, recipe, place } = options;
	const ray = recipe.ray;
	if (ray === undefined) throw new Failure('invalid', 'The recipe for this run has no Ray settings.');
	const assets = await findAssets(recipe, options.parentCheckpoint);
	const moved = (path: string): string => {
		const asset = assets.find(({ origin }) => origin === path);
		return asset === undefined || asset.packed === null ? path : `${dataPlaceholder}/${asset.packed}`;
	};
	const settings: JobSettings = {
		format: 1,
		id: options.id,
		submission: options.submission,
		place: { storage: place.storage, named: place.named, nonce: place.nonce },
		resume: options.resume,
		parentCheckpoint: options.parentCheckpoint === null ? null : moved(options.parentCheckpoint),
		workers: ray.workers,
		cpusPerWorker: ray.cpusPerWorker,
		gpusPerWorker: ray.gpusPerWorker ?? (recipe.device === 'cuda' ? 1 : 0),
		restarts: ray.restarts,
		assets,
	};
	const entries: ZipEntry[] = [
		...(await programs(options.dist)),
		{ path: 'job.json', bytes: Buffer.from(`${JSON.stringify(settings, null, '\t')}\n`) },
		{
			path: `run/${runFiles.recipe}`,
			bytes: Buffer.from(`${JSON.stringify(clusterRecipe(recipe, moved), null, '\t')}\n`),
		},
		...((await options.extra?.(mapRecipePaths(recipe, moved))) ?? []),
	];
	for (const { path } of recipe.rewardFiles ?? []) {
		entries.push({ path: `run/${path}`, bytes: await readRegular(run, path) });
	}
	for (const { origin, packed } of assets) {
		if (packed === null) continue;
		for await (const { path, bytes } of filesOf(origin)) {
			entries.push({ path: `data/${packed}${path === '' ? '' : `/${path}`}`, bytes });
		}
	}
	const bytes = await zipArchive(entries);
	return { name: `_ray_pkg_${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}.zip`, bytes };
}

/**
 * Returns the recipe for the driver on the cluster, which uses the pytorch engine with the workers as its processes.
 * Ray allocates the devices, so there is no queue.
 */
function clusterRecipe(recipe: ResolvedRecipe, moved: (path: string) => string): ResolvedRecipe {
	const { ray, ...rest } = recipe;
	const { pytorch } = recipe;
	return {
		...mapRecipePaths(rest, moved),
		engine: 'pytorch',
		whenBusy: 'share',
		...(pytorch === undefined || ray === undefined ? {} : { pytorch: { ...pytorch, processes: ray.workers } }),
	};
}

async function findAssets(recipe: ResolvedRecipe, parentCheckpoint: string | null): Promise<JobAsset[]> {
	const paths = new Set<string>(parentCheckpoint === null ? [] : [parentCheckpoint]);
	mapRecipePaths(recipe, (path) => {
		if (isAbsolute(path)) paths.add(path);
		return path;
	});
	const assets: JobAsset[] = [];
	let packedBytes = 0;
	for (const origin of paths) {
		// The asset might exist on the cluster, where the job checks for it.
		const bytes = await bytesOf(origin);
		const inside = recipe.ray?.storage != null && origin.startsWith(`${recipe.ray.storage.replace(/[\\/]+$/, '')}/`);
		const fits = bytes !== null && !inside && packedBytes + bytes <= maxPacked;
		if (fits) packedBytes += bytes;
		assets.push({ origin, packed: fits ? `${assets.length}/${basename(origin)}` : null, bytes: bytes ?? -1 });
	}
	return assets;
}

/** Returns the size of a file, or the total size of all files in a folder. null if it does not exist. */
async function bytesOf(path: string): Promise<number | null> {
	const info = await stat(path).catch(() => null);
	if (info === null) return null;
	if (!info.isDirectory()) return info.size;
	let sum = 0;
	for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
		if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size;
	}
	return sum;
}

/** Yields a single file (with path '') or all files in a folder, with relative paths. */
async function* filesOf(root: string): AsyncGenerator<ZipEntry> {
	if ((await stat(root)).isFile()) {
		yield { path: '', bytes: await readWhole(root) };
		return;
	}
	yield* walk(root, '');
}

async function* walk(root: string, below: string): AsyncGenerator<ZipEntry> {
	for (const { name } of await readdir(join(root, below), { withFileTypes: true })) {
		const path = below === '' ? name : `${below}/${name}`;
		// Files in model folders may be links into a cache.
		const info = await stat(join(root, path)).catch(() => null);
		if (info?.isFile()) yield { path, bytes: await readWhole(join(root, path)) };
		else if ((await lstat(join(root, path))).isDirectory()) yield* walk(root, path);
	}
}

/** Reads a file. Does not block if the file has been replaced by a pipe in the meantime. */
async function readWhole(path: string): Promise<Buffer> {
	const handle = await openNamed(path);
	try {
		return await handle.readFile();
	} finally {
		await handle.close();
	}
}

async function readRegular(root: string, path: string): Promise<Buffer> {
	const handle = await openRegular(root, path);
	try {
		return await handle.readFile();
	} finally {
		await handle.close();
	}
}

/** Returns the trainer, driver and reward worker files from dist/. */
async function programs(dist: string): Promise<ZipEntry[]> {
	const entries: ZipEntry[] = [];
	const names = await readdir(dist).catch(() => [] as string[]);
	if (!names.includes('driver.js') || !names.includes('trainer')) {
		throw new Failure(
			'missing',
			`${dist} is missing programs that the job requires.`,
			'Rebuild or reinstall the extension.',
		);
	}
	for (const name of names) {
		if (/^(driver|rewardHost(-[\w-]+)?|decodingWorker)\.js$/.test(name)) {
			entries.push({ path: `driver/${name}`, bytes: await readFile(join(dist, name)) });
		}
	}
	for (const [folder, target] of [
		['python', 'driver/python'],
		['trainer', ''],
	] as const) {
		for await (const { path, bytes } of walk(join(dist, folder), '')) {
			if (!/\.(py|json|txt)$/.test(path)) continue;
			entries.push({ path: target === '' ? path : `${target}/${path}`, bytes });
		}
	}
	return entries;
}
