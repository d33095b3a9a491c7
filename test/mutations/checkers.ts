/** Changes the checkers of code tests at places chosen by a seed, and sees whether the table of checkerCases.ts notices. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../../src/base/random.ts';
import type { CodeLanguage } from '../../src/rewards/codeTestsAnswer.ts';
import { root } from '../scripts/paths.ts';
import { checkAnswer } from '../support/checkedAnswer.ts';
import { type CheckerCase, javascriptCases, pythonCases } from '../support/checkerCases.ts';
import { mutated, type Place, placesOf } from './places.ts';

const folder = 'src/rewards/sandbox/harness';
export const checkers: readonly {
	readonly language: CodeLanguage;
	readonly file: string;
	readonly cases: readonly CheckerCase[];
}[] = [
	{ language: 'python', file: `${folder}/test_checker.py`, cases: pythonCases },
	{ language: 'javascript', file: `${folder}/test_checker.cjs`, cases: javascriptCases },
];

/** What pytest does is tested with pytest (test/python/pytestRows.test.ts), and is no part of the table. */
const pytestParts =
	/^(?:class PytestOutcomes|def last_line|def run_pytest|def find_pytest|def is_for_pytest)\b[\s\S]*?(?=^(?:class|def) )/gm;

/** Lines on which a change shows nowhere, each for its reason. */
const withoutEffect: readonly RegExp[] = [
	// How much is read at once, and how long a full or empty pipe is waited for.
	/Buffer\.alloc\(/,
	/Atomics\.wait\(/,
	// What a test counts is set anew before each.
	/^(?:const )?state = \{/,
];

/** Places without a second one on the same line. */
export function checkerPlaces(file: string, count: number, seed: number): Place[] {
	const text = readFileSync(join(root, file), 'utf8');
	const left = [...text.matchAll(pytestParts)].map((match) => [match.index, match.index + match[0].length] as const);
	const lines = text.split('\n');
	const lineOf = ({ start }: Place) => text.slice(0, start).split('\n').length;
	const places = placesOf(root, file).filter(
		(place) =>
			!left.some(([from, to]) => from <= place.start && place.start < to) &&
			!withoutEffect.some((pattern) => pattern.test(lines[lineOf(place) - 1] as string)),
	);
	const random = Random.of(seed, `mutations of ${file}`);
	const chosen: Place[] = [];
	while (chosen.length < count && places.length > 0) {
		const [place] = places.splice(random.int(places.length), 1) as [Place];
		if (!chosen.some((other) => lineOf(other) === lineOf(place))) chosen.push(place);
	}
	return chosen.sort((a, b) => a.start - b.start);
}

/** Cases of which a checker says something else than the table, up to the first one where `all` is false. */
export async function otherVerdicts(
	{ language, file, cases }: (typeof checkers)[number],
	place: Place | null,
	all: boolean,
): Promise<string[]> {
	const text = readFileSync(join(root, file), 'utf8');
	const base = mkdtempSync(join(tmpdir(), 'checker-'));
	// A pytest without its runner is none: the checker then runs tests by itself.
	mkdirSync(join(base, 'plain'));
	writeFileSync(join(base, 'plain', 'pytest.py'), '');
	const found: string[] = [];
	let next = 0;
	const work = async () => {
		while (next < cases.length && (all || found.length === 0)) {
			const number = next++;
			const { answer, tests, says } = cases[number] as CheckerCase;
			const own = join(base, String(number));
			mkdirSync(own);
			const environment = { PYTHONPATH: join(base, 'plain'), PYTHONDONTWRITEBYTECODE: '1' };
			const checker = place === null ? text : mutated(text, place);
			const verdict = await checkAnswer(answer, tests, {
				folder: own,
				python: 'python3',
				environment,
				language,
				checker,
			});
			const got =
				verdict.parts === 0 && verdict.fault !== null
					? verdict.atLoad
						? 'load'
						: 'fault'
					: `${verdict.passed},${verdict.parts}`;
			if (got !== String(says))
				found.push(`${language} ${number + 1} says ${got}, not ${says}: ${JSON.stringify(tests).slice(0, 120)}`);
		}
	};
	await Promise.all([work(), work(), work()]);
	rmSync(base, { recursive: true, force: true });
	return found;
}
