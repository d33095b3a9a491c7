import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choosePlaces } from '../../mutations/choose.ts';
import { mutated, pythonPlaces, relocated, typeScriptPlaces } from '../../mutations/places.ts';
import { root } from '../../scripts/paths.ts';

test('TypeScript operators, bounds, constants and calls can be mutated, but types and strings cannot', () => {
	const text = `import { a } from './a.ts';
type Size = 1 | 2;
const f = <T extends 3>(x: T, y: number = 4): boolean => x < y && y !== 5;
const text = 'n' + x + "7 < 8";
await stop();
x += 0.25;
`;
	const places = typeScriptPlaces(text, 'f.ts');
	assert.deepEqual(places.map(({ kind, original, replacement }) => `${kind} ${original} ${replacement}`).sort(), [
		'bound < <=',
		'call await stop(); void 0;',
		'constant 0.25 0.5',
		'constant 4 5',
		'constant 5 6',
		'operator !== ===',
		'operator && ||',
		'operator += -=',
	]);
	const and = places.find(({ original }) => original === '&&');
	assert.ok(and);
	assert.ok(mutated(text, and).includes('=> x < y || y !== 5;'));
	assert.throws(() => mutated(` ${text}`, and), /no longer contains/);
});

test('Python positions are counted in code points', () => {
	const text = `def f(x: int = 1) -> bool:
    '''Doc 𝒳 < 3'''
    log("𝒳" + str(x))
    return x <= 2 and not True
`;
	assert.deepEqual(
		pythonPlaces(text, 'f.py')
			.map((place) => [
				place.kind,
				place.original,
				mutated(text, place)
					.split('\n')
					.find((line, i) => line !== text.split('\n')[i])
					?.trim(),
			])
			.sort(),
		[
			['bound', '<=', 'return x < 2 and not True'],
			['call', 'log("𝒳" + str(x))', 'pass'],
			['constant', '1', 'def f(x: int = 2) -> bool:'],
			['constant', '2', 'return x <= 3 and not True'],
			['constant', 'True', 'return x <= 2 and not False'],
			['operator', 'and', 'return x <= 2 or not True'],
		].sort(),
	);
});

test('a mutation is found in another version by its lines, unless they changed or occur twice', () => {
	const text = 'const a = 1;\nlet n = 0;\nn += a;\nexport { n };\n';
	const place = typeScriptPlaces(text, 'f.ts').find(({ original }) => original === '+=');
	assert.ok(place);
	assert.equal(relocated(place, text, text), place);
	const longer = `// A line more.\n${text}n();\n`;
	const moved = relocated(place, text, longer);
	assert.ok(moved);
	assert.ok(mutated(longer, moved).includes('n -= a;'));
	assert.equal(relocated(place, text, text.replace('n = 0', 'n = 2')), null);
	assert.equal(relocated(place, text, text + text), null);
	const [first] = typeScriptPlaces(text, 'f.ts');
	assert.ok(first);
	assert.equal(relocated(first, text, `x;\n${text}`)?.start, first.start + 3);
});

test('the same seed selects the same mutations, one per file, in all parts of the product', () => {
	const places = choosePlaces(root, 20, 7);
	assert.deepEqual(choosePlaces(root, 20, 7), places);
	assert.equal(places.length, 20);
	assert.equal(new Set(places.map(({ file }) => file)).size, 20);
	assert.deepEqual(
		['src/engines/trainer/', 'webview/'].map((part) => places.filter(({ file }) => file.startsWith(part)).length),
		[3, 5],
	);
	assert.notDeepEqual(choosePlaces(root, 20, 8), places);
});
