import type { FrameFile } from '../../files/frame.ts';
import { LineFile } from '../../files/lineFile.ts';
import { OpenedFile } from '../../files/openedFile.ts';
import { EventFile } from './eventFile.ts';
import { ParquetFile } from './parquetFile.ts';
import type { FileForm } from './runFormat.ts';
import { WholeFile } from './wholeFile.ts';

/** Largest file to read whole, in bytes. */
const largestWhole = { json: 64 << 20, yaml: 8 << 20 } as const;

/** Opens a run file for reading. Fails with `missing`, or with `invalid` if it is not a regular file. */
export async function openFrames(
	folder: string,
	path: string,
	form: FileForm,
	largest: number | undefined,
): Promise<FrameFile> {
	const file = await OpenedFile.open(folder, path);
	switch (form) {
		case 'jsonl':
			return new LineFile(file);
		case 'events':
			return new EventFile(file);
		case 'parquet':
			return new ParquetFile(file);
		case 'json':
		case 'yaml':
			return new WholeFile(file, form, largest ?? largestWhole[form]);
	}
}
