import * as Q from './rational.ts';

/** A unit of measurement, expressed in the base unit of its dimension. */
export interface Unit {
	/** `length`, `length^2`, `length/time`, `currency:$`, or `label:apple` for the name of a counted object. */
	readonly dimension: string;
	readonly factor: Q.Rational;
}

type Row = readonly [dimension: string, factor: string, names: string];

/** Conversion factors are exact, based on the international definitions. */
const table: readonly Row[] = [
	['length', '1', 'm meter meters metre metres'],
	['length', '1e3', 'km kilometer kilometers kilometre kilometres'],
	['length', '1e-2', 'cm centimeter centimeters centimetre centimetres'],
	['length', '1e-3', 'mm millimeter millimeters millimetre millimetres'],
	['length', '1e-6', 'micrometer micrometers um'],
	['length', '1e-9', 'nm nanometer nanometers'],
	['length', '0.0254', 'in inch inches'],
	['length', '0.3048', 'ft foot feet'],
	['length', '0.9144', 'yd yard yards'],
	['length', '1609.344', 'mi mile miles'],
	['mass', '1', 'g gram grams'],
	['mass', '1e3', 'kg kilogram kilograms kilo kilos'],
	['mass', '1e-3', 'mg milligram milligrams'],
	['mass', '1e6', 'tonne tonnes'],
	['mass', '453.59237', 'lb lbs pound pounds'],
	['mass', '28.349523125', 'oz ounce ounces'],
	['time', '1', 's sec secs second seconds'],
	['time', '60', 'min mins minute minutes'],
	['time', '3600', 'h hr hrs hour hours'],
	['time', '86400', 'day days'],
	['time', '604800', 'week weeks'],
	['month', '1', 'month months'],
	['month', '12', 'yr yrs year years'],
	['volume', '1', 'l L liter liters litre litres'],
	['volume', '1e-3', 'ml mL milliliter milliliters millilitre millilitres'],
	['volume:gallon', '1', 'gal gallon gallons'],
	['volume:gallon', '1/4', 'qt quart quarts'],
	['volume:gallon', '1/8', 'pt pint pints'],
	['volume:gallon', '1/16', 'cup cups'],
	['currency:$', '1', '$ dollar dollars usd USD buck bucks'],
	['currency:$', '1/100', 'cent cents ¢'],
	['currency:€', '1', '€ euro euros eur EUR'],
	['currency:£', '1', '£ GBP gbp'],
	['currency:¥', '1', '¥ yuan RMB rmb CNY 元'],
	['currency:yen', '1', 'yen JPY'],
	['currency:₹', '1', '₹ rupee rupees Rs INR'],
	['angle', '1', '° degree degrees deg'],
	['angle:radian', '1', 'rad rads radian radians'],
	['temperature:C', '1', '°C celsius Celsius'],
	['temperature:F', '1', '°F fahrenheit Fahrenheit'],
	['temperature:K', '1', 'K kelvin kelvins Kelvin'],
	['length/time', '0.44704', 'mph'],
	['length/time', '10/36', 'kph kmh'],
	['length^2', '4046.8564224', 'acre acres'],
	['force', '1', 'N newton newtons Newton Newtons'],
	['energy', '1', 'J joule joules Joule Joules'],
	['energy', '1e3', 'kJ'],
	['power', '1', 'W watt watts'],
	['power', '1e3', 'kW'],
	['frequency', '1', 'Hz hertz'],
	['pressure', '1', 'Pa pascal pascals'],
	['voltage', '1', 'V volt volts'],
	['current', '1', 'A amp amps ampere amperes'],
	['amount', '1', 'mol mole moles'],
	['length', '1', 'unit units'],
];

function factorOf(text: string): Q.Rational {
	const [n = '1', d = '1'] = text.split('/');
	return Q.divide(Q.parseDecimal(n) as Q.Rational, Q.parseDecimal(d) as Q.Rational);
}

const byName = new Map<string, Unit>();
for (const [dimension, factor, names] of table) {
	for (const name of names.split(' ')) byName.set(name, { dimension, factor: factorOf(factor) });
}
/** `units` matches any length, and its powers match the corresponding powers. */
const anyUnit = new Set(['unit', 'units']);
export const isUnitName = (name: string): boolean => byName.has(name) || byName.has(name.toLowerCase());

function lookUp(name: string): Unit | null {
	return byName.get(name) ?? (name.length > 2 ? (byName.get(name.toLowerCase()) ?? null) : null);
}

const powers: Readonly<Record<string, number>> = { square: 2, sq: 2, cubic: 3, cu: 3 };

/** Parses one factor of a unit: `cm`, `cm^2`, `square inches`, `in.^3`. */
function parseFactor(text: string): { unit: Unit; any: boolean } | null {
	const match = /^(?:(square|sq\.?|cubic|cu\.?) )?([a-zA-Z$€£¥₹°元¢]+)\.?(?: ?\^ ?(?:\{ ?(-?\d) ?\}|(\d)))?$/.exec(
		text.trim(),
	);
	if (match === null) return null;
	const [, word, name = '', braced, digit] = match;
	const unit = lookUp(name);
	if (unit === null) return null;
	const exponent = (word === undefined ? 1 : (powers[word.replace('.', '')] ?? 1)) * Number(braced ?? digit ?? '1');
	if (exponent === 0) return null;
	const factor = Q.power(unit.factor, BigInt(exponent));
	return {
		unit: { dimension: exponent === 1 ? unit.dimension : `${unit.dimension}^${exponent}`, factor },
		any: anyUnit.has(name),
	};
}

/** Converts volume units, such as liters, to units of length cubed, and length × length to length squared. */
function normalized(unit: Unit): Unit {
	if (unit.dimension === 'volume')
		return { dimension: 'length^3', factor: Q.multiply(unit.factor, Q.rational(1n, 1000n)) };
	if (unit.dimension === 'length*length') return { ...unit, dimension: 'length^2' };
	return unit;
}

/**
 * Parses the text after a number: a known unit (`cm`, `km/h`, `square inches`, `miles per hour`), or a few words for
 * the counted objects, which become a label based on the last word in the singular. Returns null if the text is not a
 * unit.
 */
export function parseUnit(text: string): Unit | null {
	const t = text
		.replace(/\\text ?\{([^{}]*)\}/g, ' $1 ')
		.replace(/\^ ?\{? ?\\circ ?\}?/g, ' ° ')
		.replace(/\\ /g, ' ')
		.replace(/\s+/g, ' ')
		.replace(/° ([CF])(?![a-zA-Z])/g, '°$1')
		.replace(/ \^/g, '^')
		.replace(/[.,]+$/, '')
		.trim();
	if (t === '' || t.length > 120) return null;
	// A single letter in a text command is a label if the table has no unit with that name.
	if (/^[a-zA-Z]$/.test(t) && text.includes('\\text') && lookUp(t) === null)
		return { dimension: `label:${t}`, factor: Q.one };
	const [top = '', bottom, ...more] = t.split(/ ?\/ ?| per /);
	if (more.length === 0) {
		const numerator = parseProduct(top);
		if (numerator !== null) {
			if (bottom === undefined) return normalized(numerator);
			const denominator = parseProduct(bottom.replace(/^(?:a|an|one|each) /, ''));
			if (denominator !== null) {
				return {
					dimension: `${normalized(numerator).dimension}/${normalized(denominator).dimension}`,
					factor: Q.divide(normalized(numerator).factor, normalized(denominator).factor),
				};
			}
		}
	}
	return label(t);
}

function parseProduct(text: string): Unit | null {
	const whole = parseFactor(text);
	if (whole !== null) return whole.any ? { dimension: 'any', factor: Q.one } : whole.unit;
	const factors = text.split(/ ?(?:\\cdot|\\times|\*|-) ?| /).map(parseFactor);
	if (factors.length < 2 || factors.length > 3) return null;
	let factor = Q.one;
	const names: string[] = [];
	for (const one of factors) {
		if (one === null) return null;
		factor = Q.multiply(factor, one.unit.factor);
		names.push(one.unit.dimension);
	}
	return { dimension: names.sort().join('*'), factor };
}

/** Words that cannot name counted objects. Text containing one of them means something else. */
const noLabel =
	/^(?:and|or|not|if|is|are|was|be|no|than|but|plus|minus|times|mod|maybe|perhaps|approximately|about|when|where|because|since|true|false|answer|wrong|correct|incorrect|either|neither|then|else|which|million|billion|trillion|thousand|hundred|dozen|percent|only|ignore|previous|instructions|return|score|reward|grade)$/i;

/** Words that negate or qualify the number before them. */
const denial =
	/^(?:or|not|but|than|plus|minus|times|maybe|perhaps|wrong|incorrect|ignore|instructions|reward|score|grade)$/i;

function label(text: string): Unit | null {
	if (!/^[\p{L}][\p{L}' -]*$/u.test(text)) return null;
	const words = text.split(/[ -]/);
	// In "apples in the basket", the counted objects come first.
	const end = words.findIndex((word) =>
		/^(?:of|in|on|at|from|to|for|over|after|before|during|until|through|more|less|fewer|extra|that|who|which|per|with|by|altogether|total|left|remaining|each|every|a|an|the|old|long|tall|wide|high|away|ago|later|in total)$/i.test(
			word,
		),
	);
	const named = end < 0 ? words : words.slice(0, end);
	if (words.length > 16 || named.length > 5 || named.some((word) => noLabel.test(word))) return null;
	if (words.some((word) => denial.test(word))) return null;
	const noun = named.at(-1)?.toLowerCase();
	if (noun === undefined || noun.length < 2) return end === 0 ? { dimension: 'any', factor: Q.one } : null;
	const known = lookUp(noun);
	if (known !== null && named.length === 1) return anyUnit.has(noun) ? { dimension: 'any', factor: Q.one } : known;
	return { dimension: `label:${singular(noun)}`, factor: Q.one };
}

function singular(noun: string): string {
	if (noun === 'people' || noun === 'persons') return 'person';
	if (/ies$/.test(noun)) return `${noun.slice(0, -3)}y`;
	if (/(?:s|x|z|ch|sh)es$/.test(noun)) return noun.slice(0, -2);
	return /[^su]s$/.test(noun) ? noun.slice(0, -1) : noun;
}

/**
 * Returns the factors for comparing amounts with two units, or null if the units are incompatible. Factors differ from
 * 1 only if both units name a dimension. A side without a unit takes the unit of the other; `units` matches any unit.
 */
export function conversion(a: Unit | null, b: Unit | null): { readonly a: Q.Rational; readonly b: Q.Rational } | null {
	if (a === null || b === null || a.dimension === 'any' || b.dimension === 'any') return { a: Q.one, b: Q.one };
	return a.dimension === b.dimension ? { a: a.factor, b: b.factor } : null;
}
