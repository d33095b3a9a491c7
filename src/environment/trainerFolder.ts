import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../base/failure.ts';

/** Returns the trainer folder: dist/trainer next to this bundle, or src/engines/trainer when running from source. */
export async function trainerFolder(): Promise<string> {
	for (const place of ['./trainer', '../engines/trainer']) {
		const folder = fileURLToPath(new URL(place, import.meta.url));
		const file = await stat(join(folder, 'requirements', 'base.txt')).catch(() => null);
		if (file?.isFile()) return folder;
	}
	throw new Failure('missing', 'The PyTorch trainer is missing.', 'Reinstall Reasoning Lab.');
}
