import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const texts = new Map<string, Promise<string>>();

/** Programs that run inside a sandbox: beside this file in the sources, in dist/sandbox beside a bundle. */
export function readHarness(name: string): Promise<string> {
	const known = texts.get(name);
	if (known !== undefined) return known;
	const source = fileURLToPath(new URL(`./harness/${name}`, import.meta.url));
	const built = fileURLToPath(new URL(`./sandbox/${name}`, import.meta.url));
	const text = readFile(existsSync(source) ? source : built, 'utf8');
	texts.set(name, text);
	text.catch(() => texts.delete(name));
	return text;
}
