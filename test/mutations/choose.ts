/** Chooses mutation locations from a seed, spread over the product's parts, its files and the types of mutation. */
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../../src/base/random.ts';
import { kinds, type Place, placesOf } from './places.ts';

/** Fraction of the locations in each part of the product. */
const parts: readonly { readonly share: number; readonly pattern: string }[] = [
	{ share: 0.6, pattern: 'src/**/*.ts' },
	{ share: 0.25, pattern: 'webview/**/*.ts' },
	{ share: 0.15, pattern: 'src/engines/trainer/**/*.py' },
];

/**
 * Chooses at most one location per file: picks a file with probability proportional to its size, then a type of
 * mutation, then a location of that type.
 * @param tree folder of a checkout
 */
export function choosePlaces(tree: string, count: number, seed: number): Place[] {
	const random = Random.of(seed, 'mutations');
	const chosen: Place[] = [];
	for (const [i, { share, pattern }] of parts.entries()) {
		const wanted = i === parts.length - 1 ? count - chosen.length : Math.round(count * share);
		const left = new Map(
			globSync(pattern, { cwd: tree })
				.map((file) => file.replaceAll('\\', '/'))
				.sort()
				.map((file) => [file, statSync(join(tree, file)).size]),
		);
		for (let n = 0; n < wanted && left.size > 0; ) {
			const file = pickBySize(left, random);
			left.delete(file);
			const places = placesOf(tree, file);
			if (places.length === 0) continue;
			const kind = random.pick(kinds.filter((name) => places.some((place) => place.kind === name)));
			chosen.push(random.pick(places.filter((place) => place.kind === kind)));
			n++;
		}
	}
	return chosen;
}

function pickBySize(sizes: ReadonlyMap<string, number>, random: Random): string {
	let position = random.int([...sizes.values()].reduce((sum, size) => sum + size, 0));
	for (const [file, size] of sizes) {
		position -= size;
		if (position < 0) return file;
	}
	throw new RangeError('no file is left');
}
