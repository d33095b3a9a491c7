/** Collects the licenses of packages whose code is shipped in a VSIX, bundled or unchanged. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockedPackage } from './platformLibraries.ts';

/** @param inputs source paths of the bundles, as listed in esbuild's metafile */
export function thirdPartyNotices(inputs: Iterable<string>, packages: readonly string[]): string {
	const names = new Set(packages);
	for (const input of inputs) {
		// The last node_modules folder in a path contains the package itself.
		const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
		if (name !== undefined) names.add(name);
	}
	return [...names]
		.sort()
		.map((name) => {
			const folder = lockedPackage(name);
			const { version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
			const holder = typeof author === 'string' ? author : author?.name;
			const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
			const text =
				file === undefined ? `${license}${holder ? `, ${holder}` : ''}` : readFileSync(join(folder, file), 'utf8');
			return `${name} ${version}\n\n${text.trim()}\n`;
		})
		.join(`\n${'-'.repeat(80)}\n\n`);
}
