import { parseDocument } from 'yaml';
import { yamlAliases } from '../../../base/decodingLimits.ts';

/**
 * Parses one YAML document into plain data. Excessive alias expansion is an error, and tags never create objects. Fails
 * with an Error whose message is a sentence fragment.
 */
export function parseYaml(text: string): unknown {
	const document = parseDocument(text, { schema: 'core', uniqueKeys: false, logLevel: 'silent', prettyErrors: false });
	const [error] = document.errors;
	if (error !== undefined) throw new Error(error.message.split('\n', 1)[0]);
	return document.toJS({ maxAliasCount: yamlAliases });
}
