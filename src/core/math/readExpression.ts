import type { Expression, FunctionName, ListOperation } from './expression.ts';
import { type MathJson, parseLatex } from './latexParser.ts';
import { NumberTooLarge, parseDecimal, rational } from './rational.ts';

/** Thrown when the text is not an evaluable expression. */
class Unreadable extends Error {}

const maxNodes = 2_000;
const maxDepth = 60;

const calls: Readonly<Record<string, FunctionName>> = {
	Sqrt: 'sqrt',
	Abs: 'abs',
	Exp: 'exp',
	Ln: 'ln',
	Sin: 'sin',
	Cos: 'cos',
	Tan: 'tan',
	Cot: 'cot',
	Sec: 'sec',
	Csc: 'csc',
	Arcsin: 'arcsin',
	Arccos: 'arccos',
	Arctan: 'arctan',
	Arccot: 'arccot',
	Acot: 'arccot',
	Arcsec: 'arcsec',
	Asec: 'arcsec',
	Arccsc: 'arccsc',
	Acsc: 'arccsc',
	Sinh: 'sinh',
	Cosh: 'cosh',
	Tanh: 'tanh',
	Arsinh: 'arsinh',
	Arcosh: 'arcosh',
	Artanh: 'artanh',
	Floor: 'floor',
	Ceil: 'ceil',
	Factorial: 'factorial',
	Conjugate: 'conjugate',
	Real: 're',
	Imaginary: 'im',
	Argument: 'arg',
	Sign: 'sign',
};

/** Names that the library defines but that are plain letters in an answer. */
const letters: Readonly<Record<string, string>> = {
	GoldenRatio: 'varphi',
	EulerGamma: 'gamma',
	CatalanConstant: 'G',
	Zeta: 'zeta',
	hBar: 'hbar',
	Beta: 'beta',
};

/** Letters that are function names when followed by a parenthesis: `f(x)` is not a product. */
const functionLetters = /^(?:[fghFGHPQRTWpq]|varphi|phi|psi|Phi|Psi|Gamma|zeta|sigma|mu|tau)(?:_.*)?$/;

const number = (value: bigint, d = 1n): Expression => ({ op: 'number', value: rational(value, d) });
const minusOne = number(-1n);

/**
 * Parses a single expression (not a relation, list, set, or matrix). Returns null if the text is not an expression or
 * exceeds the size limits for comparison (2,000 nodes, depth 60).
 */
export function readExpression(latex: string): Expression | null {
	try {
		const json = parseLatex(latex);
		return json === null ? null : new Reader().read(json, 0);
	} catch (error) {
		if (error instanceof Unreadable || error instanceof NumberTooLarge) return null;
		throw error;
	}
}

function isDelimiter(json: MathJson | undefined): json is readonly MathJson[] {
	return Array.isArray(json) && json[0] === 'Delimiter';
}

class Reader {
	#nodes = 0;

	read(json: MathJson, depth: number): Expression {
		if (++this.#nodes > maxNodes || depth > maxDepth) throw new Unreadable('expression too large');
		if (typeof json === 'number') return this.#number(String(json));
		if (typeof json === 'string') return this.#symbol(json);
		if (!Array.isArray(json)) {
			const { num, sym, fn } = json as { num?: unknown; sym?: unknown; fn?: unknown };
			if (typeof num === 'string') return this.#number(num);
			if (typeof sym === 'string') return this.#symbol(sym);
			if (Array.isArray(fn)) return this.read(fn as MathJson[], depth);
			throw new Unreadable('not an expression');
		}
		return this.#operation(json as readonly MathJson[], depth + 1);
	}

	#number(text: string): Expression {
		const value = parseDecimal(text);
		if (value === null) throw new Unreadable(`number ${text}`);
		return { op: 'number', value };
	}

	#symbol(name: string): Expression {
		if (name === 'Pi') return { op: 'constant', name: 'pi' };
		if (name === 'e' || name === 'ExponentialE') return { op: 'constant', name: 'e' };
		if (name === 'i' || name === 'ImaginaryUnit') return { op: 'constant', name: 'i' };
		const letter = letters[name] ?? name;
		// Library names longer than one letter (EmptySet, Integers, Nothing) are not numbers.
		if (
			!/^(?:[A-Za-z]|[a-z]{2,8}|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega)(?:_[A-Za-z0-9]+)*$/.test(
				letter,
			)
		) {
			throw new Unreadable(`symbol ${name}`);
		}
		return { op: 'symbol', name: letter };
	}

	#operation(json: readonly MathJson[], depth: number): Expression {
		const [head, ...args] = json;
		if (typeof head !== 'string') throw new Unreadable('missing operator');
		const read = (index: number): Expression => {
			const arg = args[index];
			if (arg === undefined) throw new Unreadable(`${head} without an argument`);
			return this.read(arg, depth);
		};
		const all = (): Expression[] => args.map((arg) => this.read(arg, depth));
		const call = Object.hasOwn(calls, head) ? calls[head] : undefined;
		if (call !== undefined) {
			if (args.length !== 1) throw new Unreadable(`${head} of ${args.length} arguments`);
			return { op: 'call', name: call, args: [read(0)] };
		}
		switch (head) {
			case 'Add':
				return { op: 'add', args: all() };
			case 'Subtract': {
				const [first, ...rest] = all();
				if (first === undefined || rest.length === 0) throw new Unreadable('not a difference');
				return { op: 'add', args: [first, ...rest.map(negated)] };
			}
			case 'Negate':
				return negated(read(0));
			case 'Multiply':
				return { op: 'multiply', args: all() };
			case 'InvisibleOperator':
				return this.#juxtaposed(args, depth);
			case 'Divide':
			case 'Rational':
				return { op: 'divide', args: [read(0), read(1)] };
			case 'Power':
				return powerOf(read(0), read(1));
			case 'Square':
				return { op: 'power', args: [read(0), number(2n)] };
			case 'Root':
				return { op: 'root', args: [read(0), read(1)] };
			case 'Log':
				return { op: 'log', args: [read(0), args.length > 1 ? read(1) : number(10n)] };
			case 'Lb':
				return { op: 'log', args: [read(0), number(2n)] };
			case 'Binomial':
			case 'Choose':
				return { op: 'binomial', args: [read(0), read(1)] };
			case 'Mod':
				return { op: 'mod', args: [read(0), read(1)] };
			case 'Max':
			case 'Min':
			case 'GCD':
			case 'LCM': {
				const [first] = args;
				const list = args.length === 1 && Array.isArray(first) && first[0] === 'Set' ? first.slice(1) : args;
				const op = head.toLowerCase() as ListOperation;
				return { op, args: list.map((arg) => this.read(arg as MathJson, depth)) };
			}
			case 'Degrees':
				return {
					op: 'divide',
					args: [{ op: 'multiply', args: [read(0), { op: 'constant', name: 'pi' }] }, number(180n)],
				};
			case 'Delimiter':
				// ( … ), [ … ], and { … } around a single expression only group it. A comma gives them a different meaning.
				if (args.length > 2) throw new Unreadable('delimiter');
				return read(0);
			// The library parses this as an index, but `x[y-1]` in an answer is a product.
			case 'At':
				return { op: 'multiply', args: all() };
			case 'List':
				if (args.length !== 1) throw new Unreadable('list');
				return read(0);
			case 'Sum':
			case 'Product':
				return this.#series(head, args, depth);
			case 'Apply':
				return this.#applied(args, depth);
			case 'Prime':
				return { op: 'unknown', name: 'prime', args: [read(0)] };
			case 'Subscript':
				if (typeof args[0] !== 'string') throw new Unreadable('index');
				return { op: 'unknown', name: 'subscript', args: all() };
			case 'OverVector':
			case 'OverHat':
				return read(0);
		}
		// The library parses some names as functions, such as N(x+1), or as operators, such as D(f, x). Neither is evaluated.
		if (/^[A-Za-z]$/.test(head) && args.length > 0) return { op: 'unknown', name: head, args: all() };
		throw new Unreadable(head);
	}

	#series(head: 'Sum' | 'Product', args: readonly MathJson[], depth: number): Expression {
		const limits = args[1];
		if (args.length !== 2 || !Array.isArray(limits) || limits.length !== 4) throw new Unreadable(head);
		const variable = limits[1];
		if (typeof variable !== 'string') throw new Unreadable(head);
		return {
			op: head === 'Sum' ? 'sum' : 'product',
			variable,
			args: [
				this.read(limits[2] as MathJson, depth),
				// Compare infinite series by their first terms: equal series have equal terms.
				limits[3] === 'PositiveInfinity' ? number(37n) : this.read(limits[3] as MathJson, depth),
				new BoundReader(this, variable).read(args[0] as MathJson, depth),
			],
		};
	}

	/**
	 * Converts adjacent factors to a product. A number before a proper fraction is a mixed number, and a function letter
	 * before a parenthesis is a call.
	 */
	#juxtaposed(args: readonly MathJson[], depth: number): Expression {
		if (args.length === 0) throw new Unreadable('nothing');
		const [first, second] = args;
		if (
			args.length === 2 &&
			typeof first === 'number' &&
			Number.isInteger(first) &&
			first >= 0 &&
			Array.isArray(second)
		) {
			const [head, top, bottom] = second as readonly MathJson[];
			if (
				(head === 'Divide' || head === 'Rational') &&
				typeof top === 'number' &&
				typeof bottom === 'number' &&
				Number.isInteger(top) &&
				Number.isInteger(bottom) &&
				top > 0 &&
				bottom > top
			) {
				return { op: 'add', args: [number(BigInt(first)), number(BigInt(top), BigInt(bottom))] };
			}
		}
		const factors: Expression[] = [];
		for (let i = 0; i < args.length; i++) {
			const arg = args[i] as MathJson;
			const next = args[i + 1];
			if (typeof arg === 'string' && functionLetters.test(arg) && isDelimiter(next)) {
				factors.push({ op: 'unknown', name: arg, args: this.#arguments(next, depth) });
				i++;
			} else factors.push(this.read(arg, depth));
		}
		return factors.length === 1 ? (factors[0] as Expression) : { op: 'multiply', args: factors };
	}

	#arguments(delimiter: readonly MathJson[], depth: number): Expression[] {
		const inner = delimiter[1];
		if (Array.isArray(inner) && inner[0] === 'Sequence') {
			return inner.slice(1).map((arg) => this.read(arg as MathJson, depth));
		}
		if (inner === undefined) throw new Unreadable('no arguments');
		return [this.read(inner, depth)];
	}

	#applied(args: readonly MathJson[], depth: number): Expression {
		const [what, ...rest] = args;
		if (!Array.isArray(what) || rest.length !== 1) throw new Unreadable('Apply');
		const argument = this.read(rest[0] as MathJson, depth);
		const [head, name, order] = what as readonly MathJson[];
		if (head === 'InverseFunction' && typeof name === 'string') {
			const inverse = calls[`Arc${name.toLowerCase()}`];
			if (inverse !== undefined) return { op: 'call', name: inverse, args: [argument] };
		}
		if (head === 'Derivative' && typeof name === 'string') {
			return { op: 'unknown', name: `${name}^(${typeof order === 'number' ? order : 1})`, args: [argument] };
		}
		throw new Unreadable('Apply');
	}
}

/** Within a sum over i, treats the letter as an index rather than the imaginary unit. */
class BoundReader {
	readonly #reader: Reader;
	readonly #variable: string;

	constructor(reader: Reader, variable: string) {
		this.#reader = reader;
		this.#variable = variable;
	}

	read(json: MathJson, depth: number): Expression {
		return rename(this.#reader.read(json, depth), this.#variable);
	}
}

function rename(node: Expression, variable: string): Expression {
	if (node.op === 'constant') return node.name === variable ? { op: 'symbol', name: variable } : node;
	if (node.op === 'number' || node.op === 'symbol') return node;
	return { ...node, args: node.args.map((arg) => rename(arg, variable)) } as Expression;
}

export function negated(node: Expression): Expression {
	if (node.op === 'number') return { op: 'number', value: { n: -node.value.n, d: node.value.d } };
	return { op: 'multiply', args: [minusOne, node] };
}

function powerOf(base: Expression, exponent: Expression): Expression {
	// sin^{-1} x is the inverse function.
	const inverse =
		base.op === 'call' && exponent.op === 'number' && exponent.value.n === -1n && exponent.value.d === 1n
			? (`arc${base.name}` as FunctionName)
			: null;
	if (inverse !== null && base.op === 'call' && /^(?:sin|cos|tan|cot|sec|csc)$/.test(base.name)) {
		return { op: 'call', name: inverse, args: base.args };
	}
	return { op: 'power', args: [base, exponent] };
}
