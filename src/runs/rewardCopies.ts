import { mkdir, readdir } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { ResolvedRecipe, RewardFile } from '../core/recipe/resolvedRecipe.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { openRegular } from '../files/safeFile.ts';
import { sha256 } from '../files/sha256.ts';
import { type RewardSources, readRewardSources, rewardFileLimits } from './rewardSources.ts';
import { runFiles } from './runFiles.ts';

/** Reward files for a new run, read and ready to be written. */
export interface RewardCopies {
	readonly recipe: ResolvedRecipe;
	/** File contents, keyed by path relative to the run, with `/` as the separator. */
	readonly contents: ReadonlyMap<string, Buffer>;
}

const prefix = `${runFiles.rewards}/`;
/**
 * Returns the reward files and the environment file that a recipe refers to: absolute paths, or copies with paths
 * relative to the run.
 */
function namedFiles({ rewards, environment }: ResolvedRecipe): string[] {
	const files = rewards.flatMap((reward) => ('file' in reward ? [reward.file] : []));
	return environment?.file === undefined ? files : [...files, environment.file];
}

/**
 * Reads the reward files of a recipe, and returns the recipe with the locations of their copies. Files with absolute
 * paths are read with their local imports; a relative path refers to a copy in the run `parent`, which is copied
 * unchanged. Fails with the same errors as `readRewardSources` and, for copies in the parent, as `checkRewardCopies`.
 */
export async function readRewardCopies(recipe: ResolvedRecipe, parent: string | null = null): Promise<RewardCopies> {
	const contents = new Map<string, Buffer>();
	if (parent !== null && namedFiles(recipe).some((file) => !isAbsolute(file))) {
		for (const [path, bytes] of await readCopies(parent, recipe)) contents.set(path, bytes);
	}
	const places = new Map<string, string>();
	const written = namedFiles(recipe).filter(isAbsolute);
	if (written.length > 0) {
		const sources = await readRewardSources([...new Set(written)]);
		const folder = freeFolder(sources, contents);
		for (const [path, bytes] of sources.files) contents.set(folder + path, bytes);
		for (const [file, path] of sources.entries) places.set(file, folder + path);
	}
	const { rewardFiles: _, ...rest } = recipe;
	const copy = (file: string) => places.get(file) ?? file;
	const { environment } = recipe;
	if (contents.size === 0) return { recipe: rest, contents };
	return {
		contents,
		recipe: {
			...rest,
			rewards: recipe.rewards.map((reward) => ('file' in reward ? { ...reward, file: copy(reward.file) } : reward)),
			...(environment?.file === undefined ? {} : { environment: { ...environment, file: copy(environment.file) } }),
			rewardFiles: [...contents]
				.map(([path, bytes]) => ({ path, bytes: bytes.length, sha256: sha256(bytes) }))
				.sort((a, b) => (a.path < b.path ? -1 : 1)),
		},
	};
}

/** Returns `rewards/`, or a folder inside it if files with the same names but different content exist. */
function freeFolder(sources: RewardSources, taken: ReadonlyMap<string, Buffer>): string {
	for (let n = 1; ; n++) {
		const folder = n === 1 ? prefix : `${prefix}${n}/`;
		const fits = [...sources.files].every(([path, bytes]) => taken.get(folder + path)?.equals(bytes) ?? true);
		if (fits) return folder;
	}
}

/** Writes the copies to a new run folder. */
export async function writeRewardCopies(run: string, { contents }: RewardCopies): Promise<void> {
	for (const [path, bytes] of contents) {
		await mkdir(dirname(join(run, path)), { recursive: true });
		await writeFileAtomic(join(run, path), bytes);
	}
}

/**
 * Returns the value of `hashes.rewards` in run.json, which depends on the recipe's entries and on the content of all
 * copies.
 * @param recipe recipe.json as written, so that new defaults in later versions do not affect the hash
 */
export function hashRewards(recipe: unknown): string {
	const { rewards, rewardFiles } = recipe as { readonly rewards: unknown; readonly rewardFiles?: unknown };
	return sha256(JSON.stringify(rewardFiles === undefined ? rewards : { rewards, rewardFiles }));
}

/**
 * Checks that the reward files of a run are unchanged since it started: every copy has its recorded size and hash, and
 * there are no other files that an import could find. Fails with `mismatch`, naming the file, or with `invalid` if it
 * is not a regular file.
 */
export async function checkRewardCopies(run: string, recipe: ResolvedRecipe): Promise<void> {
	if (namedFiles(recipe).length > 0) await readCopies(run, recipe);
}

/** Returns the path of a run's copy. Fails with `invalid` if the name is not one of its copies. */
export function rewardCopyPath(run: string, recipe: ResolvedRecipe, file: string): string {
	if (recipe.rewardFiles?.some(({ path }) => path === file)) return join(run, file);
	throw new Failure(
		'invalid',
		`The reward file ${file} in ${join(run, runFiles.recipe)} is not one of the run's own copies.`,
		'Run the recipe again.',
	);
}

async function readCopies(run: string, recipe: ResolvedRecipe): Promise<Map<string, Buffer>> {
	const listed = recipe.rewardFiles ?? [];
	const bytes = listed.reduce((sum, file) => sum + file.bytes, 0);
	// A run that continues another one can have copies from both.
	if (listed.length > 2 * rewardFileLimits.files || bytes > 2 * rewardFileLimits.bytes) {
		throw new Failure('invalid', `${join(run, runFiles.recipe)} lists more reward files than a run can contain.`);
	}
	for (const file of namedFiles(recipe)) {
		// The recipe of a run that continues this one can add files.
		if (!isAbsolute(file)) rewardCopyPath(run, recipe, file);
	}
	const changed = (path: string, how: string) =>
		new Failure(
			'mismatch',
			`The reward file ${join(run, path)} ${how} since the run started.`,
			'Restore it, or start a new run.',
		);
	const names = new Set(listed.map(({ path }) => path));
	for await (const path of walk(run, runFiles.rewards)) if (!names.has(path)) throw changed(path, 'was added');
	const contents = new Map<string, Buffer>();
	for (const file of listed) {
		if (!file.path.startsWith(prefix)) {
			throw new Failure(
				'invalid',
				`${join(run, runFiles.recipe)} lists ${file.path}, which is not a copy of a reward file.`,
			);
		}
		contents.set(file.path, await readCopy(run, file, changed));
	}
	return contents;
}

async function readCopy(
	run: string,
	file: RewardFile,
	changed: (path: string, how: string) => Failure,
): Promise<Buffer> {
	const handle = await openRegular(run, file.path).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') throw changed(file.path, 'was removed');
		throw error;
	});
	try {
		const { size } = await handle.stat();
		if (size !== file.bytes || size > rewardFileLimits.fileBytes) throw changed(file.path, 'has changed');
		const bytes = await handle.readFile();
		if (sha256(bytes) !== file.sha256) throw changed(file.path, 'has changed');
		return bytes;
	} finally {
		await handle.close();
	}
}

/** Yields the files in a folder of the run, relative to the run. Fails with `invalid` for links and special files. */
async function* walk(run: string, folder: string, depth = 0): AsyncGenerator<string> {
	const entries = await readdir(join(run, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
		if (error.code === 'ENOENT') return [];
		throw Failure.from(error, `Cannot read ${join(run, folder)}`);
	});
	if (depth > 64 || entries.length > 10_000) {
		throw new Failure('invalid', `${join(run, folder)} contains files other than copies of reward files.`);
	}
	for (const entry of entries) {
		const path = `${folder}/${entry.name}`;
		if (entry.isDirectory()) {
			yield* walk(run, path, depth + 1);
		} else if (entry.isFile()) yield path;
		else throw new Failure('invalid', `${join(run, path)} is neither a file nor a folder.`, 'Remove it.');
	}
}
