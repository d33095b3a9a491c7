import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../base/failure.ts';

/** The trainer's folder: dist/trainer beside the bundle that this file is part of; src/engines/trainer when it runs from source. */
export async function trainerFolder(): Promise<string> {
	for (const place of ['./trainer', '../engines/trainer']) {
		const folder = fileURLToPath(new URL(place, import.meta.url));
		const file = await stat(join(folder, 'requirements', 'base.txt')).catch(() => null);
		if (file?.isFile()) return folder;
	}
	throw new Failure('missing', 'The trainer of the PyTorch engine is missing.', 'Reinstall Reasoning Lab.');
}
