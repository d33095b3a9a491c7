import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { readJson } from '../../files/safeFile.ts';

/*
 * Folders written by `save_to_disk` from Hugging Face's `datasets` library: state.json lists the Arrow files of a
 * dataset in order, and dataset_dict.json lists the splits of a DatasetDict, each of which is a dataset folder.
 */

const dictFile = 'dataset_dict.json';
const stateFile = 'state.json';
const maxBytes = 1 << 20;
/** Valid split names, as defined by the `datasets` library. */
const splitName = /^\w+(\.\w+)*$/;

/** Split to use from a folder with several splits, same as in the trainer. */
export const defaultSplit = 'train';

/** Returns the split names in a DatasetDict folder, or null if it is not one. Fails with `corrupt`. */
export async function savedSplits(folder: string): Promise<string[] | null> {
	const entries = await readdir(folder).catch((): string[] => []);
	if (!entries.includes(dictFile)) return null;
	const value = await readJson(folder, dictFile, maxBytes);
	const splits = isObject(value) && Array.isArray(value.splits) ? value.splits : [];
	return splits.filter((split): split is string => typeof split === 'string' && splitName.test(split));
}

/**
 * Returns the folder of a split if the path is a DatasetDict folder, and the path itself otherwise. Fails with
 * `missing`.
 */
export async function folderOfSplit(path: string, split: string): Promise<string> {
	const splits = await savedSplits(path);
	if (splits === null) return path;
	if (splits.includes(split)) return join(path, split);
	throw new Failure(
		'missing',
		`${path} has no split ${split} (available: ${splits.join(', ') || 'none'}).`,
		'Choose the folder of one split.',
	);
}

/**
 * Returns the paths of a dataset's Arrow files in row order, or null if the folder with these entries was not written
 * by `save_to_disk`. Fails with `invalid` if the folder has several splits or no files. Also fails with `missing` and
 * `corrupt`.
 */
export async function savedParts(folder: string, entries: readonly string[]): Promise<string[] | null> {
	const name = basename(folder);
	if (entries.includes(dictFile)) {
		const splits = (await savedSplits(folder)) ?? [];
		const [first = 'train', ...others] = splits;
		if (others.length > 0) {
			throw new Failure(
				'invalid',
				`${name} contains several splits (${splits.slice(0, 5).join(', ')}).`,
				`Choose the folder of one split, such as ${join(name, first)}.`,
			);
		}
		return savedParts(join(folder, first), await readdir(join(folder, first)).catch(() => []));
	}
	if (!entries.includes(stateFile)) return null;
	const state = await readJson(folder, stateFile, maxBytes);
	const { _data_files: files, _indices_data_files: indices } = isObject(state) ? state : {};
	if (Array.isArray(indices) && indices.length > 0) {
		throw new Failure(
			'unsupported',
			`${name} stores its row selection in a separate file, as old versions of datasets do.`,
			'Load it with a newer version of datasets and save it again.',
		);
	}
	const names = (Array.isArray(files) ? files : []).map((file: unknown) => (isObject(file) ? file.filename : null));
	if (names.length === 0) throw new Failure('invalid', `${name} has no data files.`, 'Save the dataset again.');
	return names.map((file) => {
		if (typeof file !== 'string' || !isPlainName(file) || !/\.arrow$/i.test(file)) {
			throw new Failure(
				'corrupt',
				`${join(name, stateFile)} lists something that is not an Arrow file in its folder.`,
				'Save the dataset again.',
			);
		}
		if (!entries.includes(file)) {
			throw new Failure(
				'missing',
				`${name} does not contain ${file}, which is listed in its ${stateFile}.`,
				'Copy the complete folder.',
			);
		}
		return join(folder, file);
	});
}

const isPlainName = (name: string): boolean => name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === 'object' && value !== null && !Array.isArray(value);
