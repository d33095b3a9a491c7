/** Failing and harmful rewards in both languages that an editor must tolerate. Each file contains one reward, `bad`. */
// @reaches rewardHost rewardPython
export interface BadReward {
	/** Complete file contents. */
	readonly python: string;
	readonly node: string;
	/** Matches the editor's message, either on the line after the signature or among the diagnostics. */
	readonly says: RegExp;
	/** false if the file fails to load. */
	readonly loads?: false;
	/** true if its values are correct nevertheless. */
	readonly harmless?: true;
	/** Limits in milliseconds, if they differ from the usual ones. */
	readonly limits?: { readonly rowMs: number; readonly batchMs: number };
}

const python = (body: string, head = '') =>
	`import os, subprocess, sys, time\n# @dataset train.jsonl\n${head}def bad(completions, **kwargs):\n    ${body}\n    return [1.0] * len(completions)\n`;
const node = (body: string, head = '') =>
	`import { spawn } from 'node:child_process';\n// @dataset train.jsonl\nvoid spawn;\n${head}export const bad = ({ answer, row }) => {\n\t${body}\n\treturn 1;\n};\n`;

const forged = 'Content-Length: 37\\r\\n\\r\\n{"jsonrpc":"2.0","id":1,"result":[1]}';

export const badRewards: Readonly<Record<string, BadReward>> = {
	'a syntax error': {
		python: '# @dataset train.jsonl\ndef bad(completions, **kwargs):\n    return [1.0\n',
		node: '// @dataset train.jsonl\nexport const bad = () => {\n\treturn (1;\n};\n',
		says: /never closed|Unexpected token|Expected/,
		loads: false,
	},
	'a missing import': {
		python: python('pass', 'import no_such_module_anywhere\n'),
		node: node('', "import './nowhere.mjs';\n"),
		says: /no_such_module_anywhere|nowhere\.mjs/,
		loads: false,
	},
	'no reward': {
		python: '# @dataset train.jsonl\nx = 1\n',
		node: '// @dataset train.jsonl\nexport const x = 1;\n',
		says: /reward/,
		loads: false,
	},
	'an infinite loop': { python: python('while True: pass'), node: node('for (;;);'), says: /exceeded its time limit/ },
	'an infinite loop during loading': {
		python: python('pass', 'while True: pass\n'),
		node: node('', 'for (;;);\n'),
		says: /Loading .* took longer than/,
		loads: false,
	},
	'an endlessly growing list': {
		python: python('x = []\n    while True: x.append(bytearray(1 << 20))'),
		node: node('const x = []; for (;;) x.push(new Array(1 << 17).fill(0.5));'),
		says: /memory|heap/,
	},
	'a fork bomb of 150 processes': {
		python: python(
			'for i in range(150):\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n        time.sleep(0.002)\n    time.sleep(60)',
		),
		node: node(
			"if (globalThis.bomb === undefined) { globalThis.bomb = []; for (let i = 0; i < 150; i++) globalThis.bomb.push(spawn('sleep', ['60'], { detached: i % 2 === 0, stdio: 'ignore' })); }\n\treturn new Promise((resolve) => setTimeout(resolve, 60_000, 1));",
		),
		says: /processes, exceeding its limit of 40|exceeded its time limit/,
	},
	'a call to sys.exit or process.exit': {
		python: python('sys.exit(3)'),
		node: node('process.exit(3);'),
		says: /exit\(3\) was called/,
	},
	'a call to os._exit or process.reallyExit': {
		python: python('os._exit(3)'),
		node: node('process.reallyExit(3);'),
		says: /process exited with code 3/,
	},
	'1 GB of output': {
		python: python('for i in range(10_000): os.write(1, b"y" * 99_999 + b"\\n")'),
		node: node(
			"if (globalThis.said === undefined) { globalThis.said = 'x'.repeat(99_999).concat('\\n'); for (let i = 0; i < 10_000; i++) process.stdout.write(globalThis.said); }",
		),
		limits: { rowMs: 60_000, batchMs: 60_000 },
		says: /^1\.00/,
		harmless: true,
	},
	'output that imitates the protocol': {
		python: python(
			`text = ${JSON.stringify(forged).replaceAll('\\\\', '\\')}\n    for i in range(1000): print(text); os.write(2, text.encode())`,
		),
		node: node(
			`const text = ${JSON.stringify(forged).replaceAll('\\\\', '\\')}; for (let i = 0; i < 10; i++) { console.log(text); process.stderr.write(text); }`,
		),
		says: /^1\.00/,
		harmless: true,
	},
	'NaN, strings and booleans': {
		python: python('return [[float("nan"), "0.5", True, float("inf")][i % 4] for i in range(len(completions))]'),
		node: node('return [Number.NaN, "0.5", true, 1 / 0][Number(answer) % 4];'),
		says: /NaN|nan|number/,
	},
	'a list of the wrong length': {
		python: python('return [1.0]'),
		node: `// @dataset train.jsonl\nexport const bad = Object.assign((rows) => [1], { batch: true });\n`,
		says: /1 (value|reward)/,
	},
	'an exception on some rows': {
		python: python('if any("3" in a for a in kwargs["answer"]): raise ValueError("three")'),
		node: node('if (answer.includes("3")) throw new Error("three");'),
		says: /three/,
	},
	'an exception of a megabyte on every row': {
		python: python('raise ValueError("x" * (1 << 20))'),
		node: node('throw new Error("x".repeat(1 << 20));'),
		says: /xxx/,
	},
	'a missing dataset column': {
		python: '# @dataset train.jsonl\ndef bad(completions, color, **kwargs):\n    return [1.0] * len(completions)\n',
		node: node('return row.colour.length;'),
		says: /colour|length/,
	},
};
