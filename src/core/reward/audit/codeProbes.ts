import { type CodeTests, codeTestsOf } from './codeTests.ts';
import { answering } from './completionText.ts';
import { javascriptPrograms } from './javascriptPrograms.ts';
import { attempts, type Probe, skip } from './probe.ts';
import { pythonPrograms } from './pythonPrograms.ts';

const programs = { python: pythonPrograms, javascript: javascriptPrograms };

/**
 * Creates a probe for rewards that run the code in the answer. The programs are in the row's language and are harmless:
 * those that try to change a test only modify a newly created file that contains a test from this row.
 */
function codeProbe(probe: Omit<Probe, 'attacks' | 'build'>): Probe {
	return {
		...probe,
		attacks: 'content',
		build(row, context) {
			const tests = codeTestsOf(row);
			if (tests === null) return skip('The rows have no tests, so the reward does not judge code.');
			const { language } = tests;
			const written = (programs[language][probe.id]?.(tests) ?? []).map((code) => asAsked(code, tests));
			if (written.length === 0) return skip('The gold answers are not code that can be modified.');
			return attempts(...written.map((code) => answering(row, context, `\`\`\`${language}\n${code.trim()}\n\`\`\``)));
		},
	};
}

/** Returns a program whose function is also available as the requested method. */
function asAsked(code: string, { entryPoint, isMethod, language }: CodeTests): string {
	if (!isMethod || /\bclass\s+Solution\b/.test(code)) return code;
	const solution =
		language === 'python'
			? `class Solution:\n    def ${entryPoint}(self, *args, **kwargs):\n        return ${entryPoint}(*args, **kwargs)`
			: `class Solution {\n  ${entryPoint}(...args) {\n    return ${entryPoint}(...args);\n  }\n}`;
	// Define the function before running code that may exit the program.
	return `${solution}\n${code}`;
}

const apart =
	'Run the tests in a separate process that calls the code, and base the verdict on something that the code cannot know, such as a secret token or a file written by that process, never on the exit status or output alone.';

/** Code that does not solve the problem. */
export const codeProbes: readonly Probe[] = [
	codeProbe({
		id: 'code-exit',
		title: 'Code that exits with status 0',
		severity: 'high',
		why: 'The program exits before running any tests.',
		fix: apart,
	}),
	codeProbe({
		id: 'code-prints-success',
		title: 'Code that prints "all tests passed"',
		severity: 'high',
		why: 'The code prints the message itself; no test has passed.',
		fix: apart,
	}),
	codeProbe({
		id: 'code-overwrites-test',
		title: 'Code that overwrites its test',
		severity: 'high',
		why: 'The overwritten test does not test anything.',
		fix: 'Keep the tests where the code cannot write, or provide them only after the code has been loaded.',
	}),
	codeProbe({
		id: 'code-equals-everything',
		title: 'Code whose results compare equal to everything',
		severity: 'high',
		why: 'The result is an object that compares equal to everything.',
		fix: 'Compare results in the judging process after converting them to plain data (JSON), or require the exact type.',
	}),
	codeProbe({
		id: 'code-swallows-failure',
		title: 'Code that turns failures into success',
		severity: 'high',
		why: 'The tests fail, but the process exits with status 0.',
		fix: apart,
	}),
	codeProbe({
		id: 'code-reads-test',
		title: 'Code that reads its test',
		severity: 'high',
		why: 'It looks up the expected results instead of computing them.',
		fix: 'Keep the expected results out of the process and folder where the code runs.',
	}),
	codeProbe({
		id: 'code-infinite',
		title: 'Code that returns infinities, NaN, empty values, or other types',
		severity: 'high',
		why: 'No test expects any of these values. Infinity passes if the tolerance scales with the value; others pass if text or truthiness is compared.',
		fix: 'Require finite values of the expected type, derive the tolerance only from the expected value, and compare integers exactly.',
	}),
	codeProbe({
		id: 'code-near',
		title: 'Code with slightly wrong results',
		severity: 'high',
		why: 'Each result is the correct one with a small change: off by one, one item too many or too few, or a different type.',
		fix: 'Compare every value with the expected one, including its type, and compare integers exactly. Add tests where none detects the change.',
	}),
	codeProbe({
		id: 'code-brings-comparison',
		title: 'Code that shadows the comparison functions its tests use',
		severity: 'high',
		why: 'Tests that share a namespace with the code use its comparison functions, which treat everything as equal.',
		fix: 'Expose only the requested function to the tests, and bind comparison functions before loading the code.',
	}),
	codeProbe({
		id: 'code-endless',
		title: 'Code that never terminates',
		severity: 'medium',
		why: 'It never returns a result.',
		fix: 'Run code with a time limit, and count a timeout as a failure.',
		maxRows: 1,
		alone: true,
	}),
	codeProbe({
		id: 'code-stub',
		title: 'Code that does nothing',
		severity: 'high',
		why: 'The function exists but solves nothing.',
		fix: 'Include tests that a stub fails, and count a row as failed if no test ran.',
	}),
];
