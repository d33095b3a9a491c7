import { formatCounted } from '../../../base/format.ts';
import { type MadeCall, madeCalls } from '../calls.ts';
import { type Finding, listed, messageName } from '../finding.ts';
import { isTable } from '../pythonValue.ts';
import { demandedFields, propertiesOf, requiredOf, schemaOf } from '../toolSchemas.ts';
import type { Transcript } from '../transcript.ts';

/**
 * Checks arguments against the tool's schema: the one in the file or, if there is none, a known schema for the tool
 * name, plus fields required by validators in the transcript. Finds missing or misplaced fields, fields of the wrong
 * type, and undeclared tools.
 */
export function findSchemaFaults(transcript: Transcript): Finding[] {
	const calls = madeCalls(transcript);
	const demanded = new Map<string, Map<string, number>>();
	const findings: Finding[] = [];
	for (const made of calls) {
		const { call, place } = made;
		const { tools } = transcript;
		if (tools.length > 0 && !tools.some(({ name }) => name === call.name)) {
			findings.push({
				check: 'schema',
				severity: 'error',
				title: `${call.name} is not declared`,
				text: `${call.name} is not among the ${formatCounted(tools.length, 'tool')} declared in the file.`,
				at: [place],
				quotes: [],
			});
		}
		if (call.fault !== null) continue;
		let asked = demanded.get(call.name);
		if (asked === undefined) {
			asked = demandedFields(calls, call.name);
			demanded.set(call.name, asked);
		}
		findings.push(...faultsOf(made, schemaOf(call.name, tools), asked));
	}
	return findings;
}

function faultsOf(
	{ call, place, message }: MadeCall,
	known: ReturnType<typeof schemaOf>,
	demanded: ReadonlyMap<string, number>,
): Finding[] {
	const schema = known?.schema ?? null;
	const given = isTable(call.arguments) ? call.arguments : null;
	const common = { check: 'schema', at: [place], quotes: [] } as const;
	const where = messageName(message.index);
	if (given === null) {
		const text = `The arguments of ${call.name} in ${where} are not an object.`;
		return [{ ...common, severity: 'error', title: `${call.name} has invalid arguments`, text }];
	}
	const findings: Finding[] = [];
	const required = new Set([...requiredOf(schema), ...[...demanded.keys()].filter((name) => !name.includes('.'))]);
	const missing = [...required].filter((name) => !Object.hasOwn(given, name));
	const properties = propertiesOf(schema);
	const misplaced = misplacedFields(given, properties, required);
	if (missing.length > 0) {
		const askers = missing.map((name) => demanded.get(name)).filter((index) => index !== undefined);
		const source = known?.source ?? '';
		const by = [
			...(requiredOf(schema).some((name) => missing.includes(name)) ? [source] : []),
			...(askers.length > 0 ? [`the validator in ${messageName(askers[0] as number)}`] : []),
		];
		const elsewhere = missing
			.map((name) => misplaced.get(name) && `${name} is in ${misplaced.get(name)}`)
			.filter((words) => words !== undefined);
		findings.push({
			...common,
			severity: 'error',
			title: `${call.name} lacks ${listed(missing)}`,
			text:
				`The call in ${where} lacks ${missing.join(' and ')}; ${listed(by)} ${by.length > 1 ? 'require' : 'requires'} ${missing.length > 1 ? 'them' : 'it'}.` +
				(elsewhere.length > 0 ? ` Within the call, ${listed(elsewhere)}.` : ''),
		});
	}
	const lost = [...misplaced].filter(([name]) => !missing.includes(name));
	if (lost.length > 0) {
		const fields = lost.map(([name, parent]) => `${name} in ${parent}`);
		findings.push({
			...common,
			severity: 'warning',
			title: `${call.name} has ${listed(lost.map(([name]) => name))} in the wrong place`,
			text: `The call in ${where} has ${listed(fields)}, where the tool does not expect a value.`,
		});
	}
	for (const { path, expected, actual } of typeFaults(given, schema, '')) {
		findings.push({
			...common,
			severity: 'error',
			title: `${call.name}: ${path} is not ${article(expected)}`,
			text: `In ${where}, ${path} is ${actual}, but ${known?.source} requires ${article(expected)}.`,
		});
	}
	for (const name of Object.keys(properties)) {
		const inner = Object.hasOwn(given, name) ? given[name] : undefined;
		if (!isTable(inner)) continue;
		const absent = requiredOf(properties[name]).filter((key) => !Object.hasOwn(inner, key));
		if (absent.length === 0) continue;
		findings.push({
			...common,
			severity: 'error',
			title: `${call.name}: ${name} lacks ${listed(absent)}`,
			text: `In ${where}, ${name} lacks ${listed(absent)}; ${known?.source} requires ${absent.length > 1 ? 'them' : 'it'}.`,
		});
	}
	return findings;
}

/** Finds tool fields that are nested in another field that does not define them; returns the parent of each. */
function misplacedFields(
	given: Readonly<Record<string, unknown>>,
	properties: Readonly<Record<string, unknown>>,
	required: ReadonlySet<string>,
): Map<string, string> {
	const own = new Set([...Object.keys(properties), ...required]);
	const misplaced = new Map<string, string>();
	for (const [parent, inner] of Object.entries(given)) {
		if (!isTable(inner)) continue;
		const allowed = propertiesOf(Object.hasOwn(properties, parent) ? properties[parent] : null);
		for (const name of Object.keys(inner)) {
			if (name === parent || !own.has(name) || Object.hasOwn(allowed, name) || misplaced.has(name)) continue;
			// If the field also exists at the correct level, the tool uses that copy.
			if (!Object.hasOwn(given, name)) misplaced.set(name, parent);
		}
	}
	return misplaced;
}

interface TypeFault {
	readonly path: string;
	readonly expected: string;
	readonly actual: string;
}

function typeFaults(value: unknown, schema: unknown, path: string, depth = 0): TypeFault[] {
	if (!isTable(schema) || depth > 6) return [];
	const { type } = schema as { type?: unknown };
	if (typeof type === 'string' && !hasType(value, type)) {
		return [{ path: path === '' ? 'the value' : path, expected: type, actual: typeName(value) }];
	}
	const faults: TypeFault[] = [];
	if (isTable(value)) {
		for (const [name, inner] of Object.entries(propertiesOf(schema))) {
			if (Object.hasOwn(value, name)) {
				faults.push(...typeFaults(value[name], inner, path === '' ? name : `${path}.${name}`, depth + 1));
			}
		}
	}
	if (Array.isArray(value) && isTable(schema.items)) {
		const at = value.findIndex((item) => typeFaults(item, schema.items, '', depth + 1).length > 0);
		if (at >= 0) faults.push(...typeFaults(value[at], schema.items, `${path}[${at}]`, depth + 1));
	}
	return faults;
}

function hasType(value: unknown, type: string): boolean {
	switch (type) {
		case 'string':
			return typeof value === 'string';
		case 'number':
			return typeof value === 'number';
		case 'integer':
			return typeof value === 'number' && Number.isInteger(value);
		case 'boolean':
			return typeof value === 'boolean';
		case 'array':
			return Array.isArray(value);
		case 'object':
			return isTable(value);
		case 'null':
			return value === null;
		default:
			return true;
	}
}

function typeName(value: unknown): string {
	if (value === null) return 'null';
	if (Array.isArray(value)) return 'an array';
	return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);
