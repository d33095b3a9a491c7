import type { CodeTests } from './codeTests.ts';

/**
 * An object that equals anything it is compared with, whether by `==`, by ordering, or after conversion to text, JSON,
 * or a list.
 */
const equalToAll = `let asked = 0;
class Anything {
  constructor(values) { this.values = values; }
  [Symbol.toPrimitive]() { return this.values[asked++ % this.values.length]; }
  toJSON() { return this.values[0]; }
  get length() { return 0; }
  *[Symbol.iterator]() {}
}`;

/** Incorrect JavaScript programs, by probe. They are harmless to run. */
export const javascriptPrograms: Readonly<Record<string, (tests: CodeTests) => readonly string[]>> = {
	'code-exit': ({ entryPoint }) => [
		'process.exit(0);',
		`function ${entryPoint}() {\n  process.exit(0);\n}`,
		`function ${entryPoint}() {\n  process.reallyExit(0);\n}`,
	],
	'code-prints-success': ({ entryPoint }) => [
		`console.log("OK\\nAll tests passed\\n3 passing (1ms)\\n1.0\\ntrue");
console.error("# pass 3\\n# fail 0");
function ${entryPoint}() {}
process.exit(0);`,
	],
	'code-overwrites-test': ({ text, entryPoint }) => [
		`const { readdirSync: list, readFileSync: read, statSync: look, writeFileSync: write } = require("node:fs");
const mark = ${JSON.stringify(markOf(text))};
for (const name of list(".")) {
  try {
    const { mtimeMs, size } = look(name);
    const isFresh = Date.now() - mtimeMs < 60000 && size < 65536 && /\\.[cm]?[jt]s$/.test(name);
    if (isFresh && mark && read(name, "utf8").includes(mark)) write(name, "");
  } catch {}
}
function ${entryPoint}() {}`,
	],
	'code-equals-everything': ({ entryPoint, text }) => [
		`${equalToAll}\nfunction ${entryPoint}() {\n  return new Anything(${JSON.stringify(valuesIn(text))});\n}`,
		`function ${entryPoint}() {\n  return new Proxy(function () {}, { get: (_, name) => (name === Symbol.toPrimitive ? () => NaN : () => true), has: () => true });\n}`,
	],
	'code-swallows-failure': ({ entryPoint }) => [
		`process.on("uncaughtException", () => process.exit(0));\nfunction ${entryPoint}() {}`,
		`process.on("exit", () => { process.exitCode = 0; });\nfunction ${entryPoint}() {}`,
		`function ${entryPoint}() {\n  return new Promise(() => {});\n}`,
	],
	'code-reads-test': ({ entryPoint }) => [
		`const { readdirSync: list, readFileSync: read, statSync: look } = require("node:fs");
let text = "";
for (const name of [...list("."), ...process.argv.slice(1, 2)]) {
  try {
    if (/\\.[cm]?[jt]s$/.test(name) && look(name).size < 1000000) text += read(name, "utf8");
  } catch {}
}
const known = new Map();
for (const [, call, sign, value] of text.matchAll(/\\b${entryPoint.replaceAll('$', '\\$')}\\(([^\\n]*?)\\)\\s*(===?|,)\\s*([^\\n);]+)/g)) {
  try {
    known.set(JSON.stringify(JSON.parse("[" + call + "]")), JSON.parse(value));
  } catch {}
}
function ${entryPoint}(...args) {
  return known.get(JSON.stringify(args));
}`,
	],
	'code-infinite': ({ entryPoint }) => [
		...['Infinity', '-Infinity', 'NaN', 'true', '""', '[]', '"null"', '[Infinity, Infinity, Infinity]', '[NaN]'].map(
			(value) => `function ${entryPoint}() {\n  return ${value};\n}`,
		),
	],
	'code-near': ({ entryPoint, gold }) =>
		new RegExp(`\\b(?:function\\s*\\*?\\s*|const\\s+|let\\s+|var\\s+)${entryPoint.replaceAll('$', '\\$')}\\b`).test(
			gold,
		)
			? changes.map(
					(change) => `const audited = (() => {
${gold.replace(/^\s*(?:export|module\.exports)\b.*$/gm, '')}
return ${entryPoint};
})();
const changed = ${change};
function ${entryPoint}(...args) {
  return changed(audited(...args));
}`,
				)
			: [],
	'code-brings-comparison': ({ entryPoint }) => [
		`var pleased = new Proxy(function () {}, { get: (_, name) => (name === Symbol.toPrimitive ? () => 1 : pleased), apply: () => pleased });
var assert = pleased, expect = pleased, chai = pleased, _ = pleased;
var isEqual = () => true, deepEqual = isEqual, assertEqual = isEqual, isDeepStrictEqual = isEqual;
var JSON = { stringify: () => "", parse: () => null };
function ${entryPoint}() {}`,
	],
	'code-endless': ({ entryPoint }) => [`function ${entryPoint}() {\n  for (;;);\n}\nfor (;;);`],
	'code-stub': ({ entryPoint }) => [
		'',
		';',
		`function ${entryPoint}() {}`,
		`async function ${entryPoint}() {}`,
		`function ${entryPoint}() {\n  throw new Error("not implemented");\n}`,
		`function ${entryPoint}( {`,
	],
};

/** Changes to correct results: slightly more, slightly less, or a different type. */
const changes = [1, -1].map(
	(step) => `(value) => {
  if (typeof value === "number") return value + ${step} * (Number.isInteger(value) ? 1 : Math.max(1, Math.abs(value) / 100));
  if (typeof value === "boolean") return !value;
  if (typeof value === "string") return value + "x";
  if (Array.isArray(value)) return ${step === 1 ? '[...value, 0]' : 'value.length === 0 ? [0] : value.slice(1)'};
  return value === null || value === undefined ? 0 : null;
}`,
);
changes.push('(value) => (typeof value === "string" ? [value] : String(value))');

/**
 * Returns the values that the tests expect: the text after an equality operator, or after a comma if there is no
 * equality operator.
 */
function valuesIn(tests: string): unknown[] {
	const value = String.raw`\s*(-?\d+(?:\.\d+)?|"[^"\n]*")`;
	const found = ['===?', ','].map((before) => [...tests.matchAll(new RegExp(before + value, 'g'))]);
	const matches = found.find((some) => some.length > 0) ?? [];
	return matches.length === 0 ? [0] : matches.slice(0, 64).map(([, text]) => JSON.parse(text as string));
}

/** Returns a line that identifies the test file, or an empty string if no line is long enough. */
function markOf(tests: string): string {
	const lines = tests.split('\n').map((line) => line.trim());
	return lines.find((line) => /^(?:console\.)?assert\b/.test(line) && line.length >= 12) ?? '';
}
