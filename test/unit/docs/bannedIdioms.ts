/**
 * Phrases that read like a translation, each with a replacement. They are searched for in strings, comments and
 * documents, ignoring case and line breaks.
 */
export interface BannedIdiom {
	readonly name: string;
	readonly pattern: RegExp;
	readonly instead: string;
}

const idiom = (name: string, pattern: RegExp, instead: string): BannedIdiom => ({ name, pattern, instead });

export const bannedIdioms: readonly BannedIdiom[] = [
	// Events and existence
	idiom('go on', /\b(goes|go|went|going) on\b(?! (with|to)? ?(the )?(GitHub|top))/i, 'continue'),
	idiom('is not there', /\b(is|are|was|were) not there\b/i, 'is missing, does not exist, no longer exists'),
	idiom('is there already', /\b(is|are) (there already|already there)\b/i, 'already exists'),
	idiom('not ... any more', /\bnot\b[^.]{0,40}\bany more\b/i, 'no longer'),
	idiom('is alive', /\b(is|are) alive\b/i, 'is running'),
	idiom('take back', /\btakes? (it|this|them|\w+ \w+) back\b/i, 'undo, clear, remove'),
	idiom('anew', /\banew\b/i, 'again, re- (rebuild, reload)'),
	idiom('likewise', /\blikewise\b/i, 'with the same settings, also'),
	idiom('meanwhile', /\bmeanwhile\b/i, 'in the meantime'),
	idiom('without a word', /\bwithout a word\b/i, 'without an error message'),
	idiom('came to its end', /\b(came|comes|come) to (its|an) end\b/i, 'finished'),
	idiom('begun', /\bbegun\b/i, 'started'),
	idiom('began to work', /\bbegan to work\b/i, 'started working'),
	idiom('cut off', /\bcut off\b/i, 'truncated'),
	idiom('broken off', /\b(broken|breaks|broke) off\b/i, 'interrupted, truncated'),
	idiom('make anew', /\bmake(s)? it anew\b/i, 'recreate it'),
	// People
	idiom('whoever', /\bwhoever\b/i, 'the caller, anyone who'),
	idiom("nobody's", /\bnobody's\b/i, 'unused, padding'),
	idiom('thought better of it', /\bthought better of it\b/i, 'canceled'),
	idiom('of persons', /\bpersons\b/i, 'people, human'),
	// Reporting and viewing
	idiom('says so', /\bsays? so\b/i, 'reports it'),
	idiom('is told', /\b(is|are|was|were|be) told\b/i, 'is reported, receives, is shown'),
	idiom('told apart', /\b(told|tell|tells) apart\b/i, 'distinguished'),
	idiom('held against', /\bheld against\b/i, 'compared with, checked against'),
	idiom('on its word', /\bon its word\b/i, 'without checking'),
	idiom('look at the log', /\blook at (the log|engine\.log|pipeline\.log)/i, 'see the log'),
	idiom('a first look', /\ba first look\b/i, 'partial scan'),
	idiom('worth a look', /\bworth a look\b/i, 'with warnings'),
	idiom('looked at', /\b(be|is|are|was|were) looked at\b/i, 'read, checked, inspected'),
	idiom('Say what', /\bSay what\b/, 'Show...'),
	// Location
	idiom('lies', /\b(lies|lie|lay) (in|at|on|beside|below|outside|within|there|elsewhere)\b/i, 'is in, is next to'),
	idiom('stands', /\b(stands|stand) (in|at|on|beside|behind|there|before|for it)\b/i, 'is in, appears'),
	idiom('of its own', /\ba (\w+ )?(\w+) of its own\b/i, 'its own..., a separate...'),
	// "no" instead of "not"
	idiom(
		'is no',
		/(?<!\bthere )\b(is|are|was) no (file|folder|regular|recipe|pipeline|run|text|JSON|number|name|key|cache|log|absolute)\b/i,
		'is not a',
	),
	idiom('names no', /\bnames no\b/i, 'does not name a, is not a'),
	idiom('holds no', /\bholds no\b/i, 'contains no'),
	idiom('of no use', /\bof no use\b/i, 'does not apply'),
	idiom('makes no sense', /\bmakes no sense\b/i, 'is not valid'),
	// Instructions
	idiom('Write it like', /\bwrite (it|them|one) (like|as)\b/i, 'Use the form'),
	idiom('Correct it', /\bcorrect (it|the \w+)( first)?\.["'`]/i, 'Fix it'),
	idiom('Name one', /["'`.] ?Name (one|another|it|them|a|the)\b/, 'Use, Choose, Set'),
	idiom('in which, of which', /'(In|Of|With|On|From|For) which /, 'Select a ...'),
	idiom('Which', /'Which [a-z]+( [a-z]+)?'/, 'Select a ...'),
	// Numbers
	idiom('N % with a space', /\d %(?![a-z\w=]|\s*[\d(a-z])/, '66.0% without a space'),
	idiom('set-up', /\b(the|a) set-up\b/i, 'setup'),
	idiom('hyper-parameter', /hyper-parameter/i, 'hyperparameter'),
	idiom('pre-trained', /pre-trained/i, 'pretrained'),
	// British spelling
	idiom('cancelled', /['"`.] ?Cancelled\b|was cancelled\b/, 'canceled'),
	idiom(
		'-our, -ise',
		/\b(colour|behaviour|neighbour|favour|organisation|normalis|optimis|generalis|summaris|initialis)/i,
		'American spelling',
	),
	idiom('learnt, catalogue', /\b(learnt|catalogue)\b/i, 'learned, catalog'),
];
