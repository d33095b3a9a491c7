import { Failure } from '../../base/failure.ts';
import type { FrameFile } from '../../files/frame.ts';
import type { JsonShape } from '../../files/jsonParts.ts';
import { LineFile } from '../../files/lineFile.ts';
import { OpenedFile } from '../../files/openedFile.ts';
import { ZstdBytes } from '../../files/zstdBytes.ts';
import { EventFile } from './eventFile.ts';
import { JsonListFile } from './jsonListFile.ts';
import { ParquetFile } from './parquetFile.ts';
import { PartsFile } from './parts/partsFile.ts';
import type { FileForm, FileShape } from './runFormat.ts';
import { SqliteRows } from './sqliteRows.ts';
import { TorchFile } from './torchFile.ts';
import { WandbFile } from './wandbFile.ts';
import { WholeFile } from './wholeFile.ts';
import { ZipFile } from './zipFile.ts';

/** Maximum size of a file or archive member to read whole, in bytes. */
const largestWhole = { json: 64 << 20, yaml: 8 << 20, zip: 64 << 20 } as const;

/** Opens a run file for reading. Fails with `missing`, or with `invalid` if it is not a regular file. */
export async function openFrames(folder: string, path: string, shape: FileShape): Promise<FrameFile> {
	const { form, largest, members = '**', table = '', list = '', lastOf, parts, together, inParts } = shape;
	if (form === 'sqlite') return openedTable(folder, path, { table, lastOf });
	const { file, compressed } = await openedFile(folder, path, form);
	switch (form) {
		case 'jsonl': {
			const lines = new LineFile(compressed ? await decompressed(file) : file, { parts });
			if (parts === undefined) return lines;
			const { descriptor, size, modifiedMs, stamp } = file;
			return new PartsFile(lines, { file: { descriptor, size, modifiedMs, stamp }, compressed, parts });
		}
		case 'lines':
			return new LineFile(file, { plain: true });
		case 'events':
			return new EventFile(file, together);
		case 'parquet':
			return new ParquetFile(file, lastOf);
		case 'torch':
			return new TorchFile(file, list);
		case 'zip':
			return new ZipFile(file, members, largest ?? largestWhole.zip);
		case 'wandb':
			return new WandbFile(file);
		case 'json':
		case 'yaml': {
			const whole = largest ?? largestWhole[form];
			if (inParts !== undefined && file.size > whole) {
				return new JsonListFile(file, inParts.list, inParts.beside, largestWhole.json);
			}
			return new WholeFile(file, form, whole);
		}
	}
}

/** Restricts the shape of a file to the needed parts of its records. */
export function withParts(shape: FileShape, parts: JsonShape | undefined): FileShape {
	return parts === undefined ? shape : { ...shape, parts };
}

/** Opens a file, or its compressed copy if it was sealed in the meantime; lines have the same positions in both. */
async function openedFile(folder: string, path: string, form: FileForm) {
	if (path.endsWith('.zst')) return { file: await OpenedFile.open(folder, path), compressed: true };
	try {
		return { file: await OpenedFile.open(folder, path), compressed: false };
	} catch (error) {
		if (form !== 'jsonl' || Failure.from(error).reason !== 'missing') throw error;
		const sealed = await OpenedFile.open(folder, `${path}.zst`).catch(() => null);
		if (sealed === null) throw error;
		return { file: sealed, compressed: true };
	}
}

async function decompressed(file: OpenedFile): Promise<ZstdBytes> {
	try {
		return await ZstdBytes.open(file);
	} catch (error) {
		await file.close();
		throw error;
	}
}

async function openedTable(folder: string, path: string, shape: Parameters<typeof SqliteRows.open>[2]) {
	try {
		return await SqliteRows.open(folder, path, shape);
	} catch (error) {
		if (error instanceof Failure) throw error;
		throw new Failure('corrupt', `${path} cannot be read: ${(error as Error).message}.`);
	}
}
