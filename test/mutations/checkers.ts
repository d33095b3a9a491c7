/**
 * Mutates the code test checkers at locations chosen by a seed and checks whether the table in checkerCases.ts notices.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Random } from '../../src/base/random.ts';
import type { CodeLanguage } from '../../src/rewards/codeTestsAnswer.ts';
import { root } from '../scripts/paths.ts';
import { checkAnswer } from '../support/checkedAnswer.ts';
import { type CheckerCase, javascriptCases, pythonCases, runnerCases } from '../support/checkerCases.ts';
import { mutated, type Place, placesOf } from './places.ts';

const folder = 'src/rewards/sandbox/harness';
export const checkers: readonly {
	readonly language: CodeLanguage;
	readonly file: string;
	readonly cases: readonly CheckerCase[];
	/** Number of mutations to try. */
	readonly places: number;
}[] = [
	{ language: 'python', file: `${folder}/test_checker.py`, cases: pythonCases, places: 30 },
	{ language: 'javascript', file: `${folder}/test_checker.cjs`, cases: javascriptCases, places: 30 },
	{ language: 'javascript', file: `${folder}/test_runner.cjs`, cases: runnerCases, places: 20 },
];

/**
 * Code specific to pytest, which is tested with pytest (test/python/pytestRows.test.ts) and not covered by the table.
 */
const pytestParts =
	/^(?:class PytestOutcomes|def last_line|def run_pytest|def find_pytest|def is_for_pytest)\b[\s\S]*?(?=^(?:class|def) )/gm;

/** Lines where a mutation has no observable effect, with the reason. */
const withoutEffect: readonly RegExp[] = [
	// Read size, and wait time for a full or empty pipe.
	/Buffer\.alloc\(/,
	/Atomics\.wait\(/,
	// Closes one of the checker's own coroutines, which is never awaited.
	/self\._inner\.close\(\)/,
	// Magnitude from which numbers are written in hexadecimal instead of decimal.
	/-\(2\*\*53\) < value < 2\*\*53/,
	// Reset before each test.
	/^(?:const )?state = \{/,
];

/** Returns random locations, at most one per line. */
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

/** File with the exact verdicts for all cases, written by recordCheckerVerdicts.ts. */
export const recorded = join(root, 'test/fixtures/checkerVerdicts.json');

/** Key that does not depend on a case's position in the table. */
export const keyOf = ({ answer, tests }: CheckerCase) =>
	createHash('sha256')
		.update(JSON.stringify([answer, tests]))
		.digest('hex')
		.slice(0, 12);

/** Removes details of syntax errors, which differ between Python and Node versions. */
const withoutVersions = (line: string) =>
	line
		.replace(/(the test is not valid (?:Python|JavaScript)|SyntaxError): .*/, '$1')
		.replace(/ \(.*?\bline \d+\)$/, '');

/** Checks the cases and passes each verdict to `isEnough` until it returns true. */
export async function verdictsOf(
	{ language, file, cases }: Pick<(typeof checkers)[number], 'language' | 'file' | 'cases'>,
	place: Place | null,
	isEnough: (one: CheckerCase, says: string, lines: readonly string[]) => boolean,
): Promise<void> {
	const text = readFileSync(join(root, file), 'utf8');
	const changed = { [basename(file)]: place === null ? text : mutated(text, place) };
	const base = mkdtempSync(join(tmpdir(), 'checker-'));
	// Add a pytest without a runner, so that the checker runs the tests itself.
	mkdirSync(join(base, 'plain'));
	writeFileSync(join(base, 'plain', 'pytest.py'), '');
	// Use the interpreter itself because a version manager's wrapper script is slower.
	const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
	const environment = { PYTHONPATH: join(base, 'plain'), PYTHONDONTWRITEBYTECODE: '1' };
	let next = 0;
	const enough = new AbortController();
	const work = async () => {
		while (next < cases.length) {
			const number = next++;
			const one = cases[number] as CheckerCase;
			const own = join(base, String(number));
			mkdirSync(own);
			const { passed, parts, fault, atLoad, lines } = await checkAnswer(one.answer, one.tests, {
				...{ folder: own, python, environment, language, changed },
				...{ signal: enough.signal, onlyBusy: place !== null },
			});
			if (enough.signal.aborted) return;
			const says = parts === 0 && fault !== null ? (atLoad ? 'load' : 'fault') : `${passed},${parts}`;
			if (isEnough(one, says, lines.map(withoutVersions))) {
				next = cases.length;
				enough.abort();
			}
		}
	};
	await Promise.all([work(), work(), work()]);
	rmSync(base, { recursive: true, force: true });
}

/**
 * Returns the cases for which a checker differs from the table or its recorded verdicts; stops at the first one unless
 * `all`.
 */
export async function otherVerdicts(
	checker: (typeof checkers)[number],
	place: Place | null,
	all: boolean,
): Promise<string[]> {
	const words: Readonly<Record<string, readonly string[]>> = JSON.parse(readFileSync(recorded, 'utf8'));
	const found: string[] = [];
	await verdictsOf(checker, place, (one, says, lines) => {
		const expected = words[keyOf(one)] ?? [];
		const [want, got] = [[String(one.says), ...expected].join('; '), [says, ...lines].join('; ')];
		if (want !== got) found.push(`${JSON.stringify(one.tests).slice(0, 120)}: ${got}, not ${want}`);
		return found.length > 0 && !all;
	});
	return found;
}
