import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { root } from '../../scripts/paths.ts';
import { bannedIdioms } from './bannedIdioms.ts';
import { allowed } from './wordingDebt.ts';

const areas: Readonly<Record<string, readonly string[]>> = {
	src: ['src'],
	webview: ['webview'],
	docs: ['docs', 'README.md', 'CONTRIBUTING.md'],
	media: ['media', 'package.json'],
	'test/scripts': ['test/scripts'],
};

/** Replaces line breaks and any comment markers after them with single spaces so that idioms match across lines. */
const unwrapped = (text: string): string => text.replace(/\n\s*(\*(?!\/)|\/\/|#)?\s*/g, ' ');

function filesOf(paths: readonly string[]): string[] {
	const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths], {
		cwd: root,
		encoding: 'utf8',
	});
	return listed.split('\n').filter((path) => /\.(ts|mjs|py|css|md|json)$/.test(path) && !path.endsWith('.schema.json'));
}

/** Finds all matches of each idiom in an area, with some surrounding text. */
function placesIn(paths: readonly string[]): Map<string, string[]> {
	const places = new Map<string, string[]>();
	for (const path of filesOf(paths)) {
		let text: string;
		try {
			text = unwrapped(readFileSync(join(root, path), 'utf8'));
		} catch {
			continue; // deleted but not yet committed
		}
		for (const { name, pattern } of bannedIdioms) {
			for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
				const around = text.slice(Math.max(0, match.index - 30), match.index + match[0].length + 30);
				places.set(name, [...(places.get(name) ?? []), `${path}: ...${around}...`]);
			}
		}
	}
	return places;
}

describe('wording', () => {
	for (const [area, paths] of Object.entries(areas)) {
		it(`in ${area} has no more banned idioms than wordingDebt.ts allows`, () => {
			const places = placesIn(paths);
			if (process.env.WORDING_COUNTS !== undefined) {
				const counts = Object.fromEntries([...places].map(([name, found]) => [name, found.length]).sort());
				process.stdout.write(`COUNTS ${JSON.stringify({ [area]: counts })}\n`);
			}
			for (const { name, instead } of bannedIdioms) {
				const found = places.get(name) ?? [];
				const limit = allowed[area]?.[name] ?? 0;
				assert.ok(
					found.length <= limit,
					`"${name}": ${found.length} in ${area}, ${limit} allowed. Write instead: ${instead}.\n${found.join('\n')}`,
				);
			}
		});
	}
});
