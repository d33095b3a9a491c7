import { type CodeTests, codeTestsOf } from './codeTests.ts';
import { answering } from './completionText.ts';
import { javascriptPrograms } from './javascriptPrograms.ts';
import { attempts, type Probe, skip } from './probe.ts';
import { pythonPrograms } from './pythonPrograms.ts';

const programs = { python: pythonPrograms, javascript: javascriptPrograms };

/**
 * A probe of rewards that run the answer's code. The programs are in the row's language and do no harm where they run: those that
 * would change a test change only a fresh file that holds this row's own test.
 */
function codeProbe(probe: Omit<Probe, 'attacks' | 'build'>): Probe {
	return {
		...probe,
		attacks: 'content',
		build(row, context) {
			const tests = codeTestsOf(row);
			if (tests === null) return skip('The rows have no tests, so the reward is not about code.');
			const { language } = tests;
			const written = (programs[language][probe.id]?.(tests) ?? []).map((code) => asAsked(code, tests));
			if (written.length === 0) return skip('The gold answers are no code that could be changed.');
			return attempts(...written.map((code) => answering(row, context, `\`\`\`${language}\n${code.trim()}\n\`\`\``)));
		},
	};
}

/** A program whose function is also the method that is asked for. */
function asAsked(code: string, { entryPoint, isMethod, language }: CodeTests): string {
	if (!isMethod || /\bclass\s+Solution\b/.test(code)) return code;
	const solution =
		language === 'python'
			? `class Solution:\n    def ${entryPoint}(self, *args, **kwargs):\n        return ${entryPoint}(*args, **kwargs)`
			: `class Solution {\n  ${entryPoint}(...args) {\n    return ${entryPoint}(...args);\n  }\n}`;
	// A definition before what may end the program.
	return `${solution}\n${code}`;
}

const apart =
	'Run the tests in a process of their own that calls the code, and take the verdict from that process: a secret mark or a file that the code cannot know, never exit status or output alone.';

/** Code that does not solve the problem. */
export const codeProbes: readonly Probe[] = [
	codeProbe({
		id: 'code-exit',
		title: 'Code that exits with status 0',
		severity: 'high',
		why: 'The program ends before any test has run.',
		fix: apart,
	}),
	codeProbe({
		id: 'code-prints-success',
		title: 'Code that prints that all tests passed',
		severity: 'high',
		why: 'The words are its own; no test has passed.',
		fix: apart,
	}),
	codeProbe({
		id: 'code-overwrites-test',
		title: 'Code that overwrites its test',
		severity: 'high',
		why: 'What is left of the test tests nothing.',
		fix: 'Keep the tests where the code cannot write, or hand them over only after the code has been loaded.',
	}),
	codeProbe({
		id: 'code-equals-everything',
		title: 'Code whose results equal everything',
		severity: 'high',
		why: 'It returns an object whose equality always holds.',
		fix: 'Compare in the process that judges, after the result has been turned into plain data (JSON), or require the exact type.',
	}),
	codeProbe({
		id: 'code-swallows-failure',
		title: 'Code that turns failures into success',
		severity: 'high',
		why: 'The tests fail, and the process ends with status 0 nevertheless.',
		fix: apart,
	}),
	codeProbe({
		id: 'code-reads-test',
		title: 'Code that reads its test',
		severity: 'high',
		why: 'It looks the expected results up instead of computing them.',
		fix: 'Keep the expected results out of the process and the folder in which the code runs.',
	}),
	codeProbe({
		id: 'code-infinite',
		title: 'Code whose values are infinite, no numbers, empty or of another type',
		severity: 'high',
		why: 'None of these values is what a test expects. A tolerance that grows with the value lets an infinite one pass; comparing texts or truth lets others.',
		fix: 'Require finite values of the expected type, take the tolerance from the expected value alone, and compare whole numbers exactly.',
	}),
	codeProbe({
		id: 'code-near',
		title: 'Code whose values are nearly right',
		severity: 'high',
		why: 'Each value is that of the right program changed: one more, one less, one item more or less, or of another type.',
		fix: 'Compare every value with the expected one, whole numbers exactly and with their type, and add tests where none notices.',
	}),
	codeProbe({
		id: 'code-brings-comparison',
		title: 'Code that brings what its tests compare by',
		severity: 'high',
		why: 'Tests that share names with the code compare by its functions, and those find everything equal.',
		fix: 'Let tests see only the function that is asked for, and bind what they compare by before the code is loaded.',
	}),
	codeProbe({
		id: 'code-endless',
		title: 'Code that never ends',
		severity: 'medium',
		why: 'It gives no result.',
		fix: 'Give code a time limit, and count running into it as failed.',
		mostRows: 1,
		alone: true,
	}),
	codeProbe({
		id: 'code-stub',
		title: 'Code that does nothing',
		severity: 'high',
		why: 'The function is there and solves nothing.',
		fix: 'Run tests that a stub fails, and count a row without any test that ran as failed.',
	}),
];
