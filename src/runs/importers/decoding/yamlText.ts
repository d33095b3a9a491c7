import { Lexer, parseDocument } from 'yaml';
import { jsonLimits, yamlAliases } from '../../../base/decodingLimits.ts';

/**
 * Parses one YAML document into plain data. Excessive nesting or alias expansion is an error, and tags never create objects. Fails
 * with an Error whose message is a sentence fragment.
 */
export function parseYaml(text: string): unknown {
	checkDepth(text);
	const document = parseDocument(text, { schema: 'core', uniqueKeys: false, logLevel: 'silent', prettyErrors: false });
	const [error] = document.errors;
	if (error !== undefined) throw new Error(error.message.split('\n', 1)[0]);
	return document.toJS({ maxAliasCount: yamlAliases });
}

/** Lexer token that precedes the text of a scalar. */
const scalar = '\u001f';

/** Throws an Error if flow collections are nested too deeply, because parsing them would take seconds. */
function checkDepth(text: string): void {
	if (text.split(/[[{]/, jsonLimits.depth + 2).length < jsonLimits.depth + 2) return;
	let depth = 0;
	let isText = false;
	for (const token of new Lexer().lex(text)) {
		if (!isText && (token === '[' || token === '{')) depth++;
		if (!isText && (token === ']' || token === '}')) depth--;
		if (depth > jsonLimits.depth) throw new Error(`its values are nested more than ${jsonLimits.depth} levels deep`);
		isText = token === scalar;
	}
}
