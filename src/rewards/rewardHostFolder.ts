import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the folder of the host programs: the folder of the current bundle, or src/rewards when running from source.
 * For ES modules only; the extension host specifies its dist folder itself.
 */
export function rewardHostFolder(): string {
	return dirname(fileURLToPath(import.meta.url));
}
