import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { LiteralFinder } from '../../../src/rolloutIndex/literalFinder.ts';
import { literalBytes, requiredTexts } from '../../../src/rolloutIndex/requiredLiterals.ts';
import { patternOf } from '../../../src/rolloutIndex/textSearch.ts';

describe('literals required by a regular expression', () => {
	const cases: readonly (readonly [string, readonly string[] | null])[] = [
		['kaleidoscope', ['kaleidoscope']],
		['kal\\w+scope', ['scope']],
		['^Wait,? let me$', [' let me']],
		['foo|bar+', ['foo', 'bar']],
		['foo|\\d+', null],
		['(?:foo|barrel)?x', ['x']],
		['(foo|barrel)x', ['foo', 'barrel']],
		['ab+cde', ['bcde']],
		['ab{2}cde', ['bcde']],
		['ab{0,2}cde', ['cde']],
		['\\bstep \\d+\\. ', ['step ']],
		['a\\.b\\(c', ['a.b(c']],
		['[abc]+', null],
		['[\\]x]abc', ['abc']],
		['(?=looked)\\w+', ['looked']],
		['(?!not)this', ['this']],
		['(?<name>inner)\\k<name>', ['inner']],
		['\\u{1F600}abc', ['abc']],
		['\\x41bcd', ['bcd']],
		['a\\nbc', ['a\nbc']],
		['(?i:abc)def', null],
		['', null],
	];
	for (const [source, texts] of cases) {
		it(`of /${source}/`, () => assert.deepEqual(requiredTexts(source), texts));
	}

	it('occur in every matching text, in any JSON encoding', () => {
		const random = Random.of(9, 'expressions');
		const atoms = [
			'a',
			'ab',
			'k',
			's',
			'é',
			'数学',
			'\\.',
			'"',
			'/',
			'\\n',
			'.',
			'\\w',
			'[ab]',
			'(ab|sk)',
			'(?:a|数)',
			'(a)?',
			'^',
			'\\b',
		];
		const signs = ['', '', '', '', '*', '+', '?', '{2}', '{0,1}'];
		const letters = [
			'a',
			'b',
			'A',
			'B',
			'k',
			'K',
			'\u212a',
			's',
			'S',
			'ſ',
			'é',
			'É',
			'数',
			'学',
			'.',
			'"',
			'/',
			'\n',
			' ',
		];
		const escapes = [
			(text: string) => JSON.stringify(text),
			(text: string) =>
				JSON.stringify(text).replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
			(text: string) =>
				JSON.stringify(text)
					.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`)
					.replaceAll('/', '\\/'),
		];
		let filtered = 0;
		for (let round = 0; round < 20_000; round++) {
			let source = '';
			for (let i = 1 + random.int(5); i > 0; i--) {
				const atom = atoms[random.int(atoms.length)] as string;
				source += /^[\^\\b]/.test(atom) ? atom : `${atom}${signs[random.int(signs.length)]}`;
			}
			if (random.int(8) === 0) source += `|${atoms[random.int(10)]}`;
			const caseSensitive = random.int(2) === 0;
			let pattern: ReturnType<typeof patternOf>;
			try {
				pattern = patternOf({ pattern: source, regex: true, caseSensitive });
			} catch {
				continue;
			}
			if (pattern.literals === null) continue;
			filtered++;
			for (let i = 0; i < 10; i++) {
				let text = '';
				for (let k = random.int(12); k > 0; k--) text += letters[random.int(letters.length)];
				if (!new RegExp(pattern.source, pattern.flags).test(text)) continue;
				for (const written of escapes) {
					const finder = new LiteralFinder(pattern.literals);
					finder.begin(Buffer.from(written(text)));
					assert.notEqual(finder.next(0), -1, `/${source}/${pattern.flags} in ${written(text)}`);
				}
			}
		}
		assert.ok(filtered > 500, `${filtered}`);
	});

	it('are searched for as bytes that all JSON writers encode identically', () => {
		const bytes = (texts: string[], caseSensitive: boolean) =>
			literalBytes(texts, caseSensitive)?.map(({ bytes: found }) => Buffer.from(found).toString()) ?? null;
		assert.deepEqual(bytes(['let us "check"'], true), ['let us ']);
		assert.deepEqual(bytes(['Kaleidoscope'], false), ['aleido']);
		assert.deepEqual(bytes(['ab'], true), null);
		assert.deepEqual(bytes(['双重'], true), ['双重', '\\u53cc\\u91cd']);
		assert.deepEqual(bytes(['é"é'], true), null);
		assert.deepEqual(bytes(['abc', 'x'], true), null);
	});
});

describe('searching for several literals', () => {
	it('gives the same result as a plain search, with and without case sensitivity', () => {
		const random = Random.of(4, 'literals');
		for (let round = 0; round < 2000; round++) {
			let text = '';
			// Texts of few letters contain long literals, and parts of them, several times.
			const letters = random.pick(['abAB1é', 'ab', 'A1']);
			for (let i = random.int(60); i > 0; i--) text += letters[random.int(letters.length)];
			const literals = Array.from({ length: 1 + random.int(3) }, () => {
				const ignoreCase = random.int(2) === 0;
				let literal = '';
				for (let i = 1 + random.int(random.int(4) === 0 ? 14 : 4); i > 0; i--)
					literal += (ignoreCase ? 'ab1' : 'abAB1')[random.int(ignoreCase ? 3 : 5)];
				return { literal, ignoreCase };
			});
			const finder = new LiteralFinder(
				literals.map(({ literal, ignoreCase }) => ({ bytes: Buffer.from(literal), ignoreCase })),
			);
			const bytes = Buffer.from(text);
			finder.begin(bytes);
			const latin = bytes.toString('latin1');
			for (let from = 0; ; ) {
				const places = literals
					.map(({ literal, ignoreCase }) => (ignoreCase ? latin.toLowerCase() : latin).indexOf(literal, from))
					.filter((place) => place !== -1);
				const expected = places.length === 0 ? -1 : Math.min(...places);
				const found = finder.next(from);
				assert.equal(found, expected, `${JSON.stringify(literals)} in ${text} from ${from}`);
				if (found === -1) break;
				from = found + 1;
			}
		}
	});

	it('finds a literal after thousands of occurrences of its rarest part', () => {
		const bytes = Buffer.from(`${'a zzz '.repeat(3000)}e zzz ${'a zzz '.repeat(3000)}e zzz`);
		const finder = new LiteralFinder([{ bytes: Buffer.from('e zzz'), ignoreCase: false }]);
		finder.begin(bytes);
		assert.deepEqual([finder.next(0), finder.next(18_001), finder.next(36_007)], [18_000, 36_006, -1]);
	});
});
