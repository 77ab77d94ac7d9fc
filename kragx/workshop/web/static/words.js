// Every word of the interface, and how numbers and days are written. {0}, {1} ... are filled in.

const WORDS = {
  en: {
    otherLanguage: "한국어", views: "Views", close: "Close", cancel: "Cancel", again: "Try again", loading: "One moment…", more: "More", all: "all", yes: "yes", no: "no", unknown: "not known", hidden: "a character that one does not see",
    view_judge: "Judge", view_search: "Search", view_questions: "Questions", view_progress: "Progress", view_conflicts: "Conflicts", view_people: "People", view_releases: "Releases",
    guidelines: "Guidelines", guidelinesKey: "Key: ?", noGuidelines: "Nothing has been written here yet.",
    didNotWork: "That did not work", noAnswer: "No connection to the workshop", noAnswerHow: "The program behind this page does not answer. The page tries again by itself; nothing that you have said is lost.", refused: "The workshop refused this (code {0}).", status_400: "", status_403: "", status_404: "", status_409: "", status_413: "",
    error_name: "Somebody here has this name already: give each a name of their own.", error_document: "The corpus has no document with this id.", error_undo: "There is nothing to take back.", error_dropped: "This question was dropped meanwhile.", error_text: "Another question has the same words.", error_author: "A question is changed by who wrote it, and by the owner.", error_same: "Nothing has changed since the last version.", error_ready: "No question is ready for a version.", error_store: "The database does not answer; nothing was stored. Try again in a moment.", error_owner: "Only the owner may do this.", error_mistake: "This is a mistake in kragx, please report it.",
    linkUnknown: "This link does not open the workshop", linkMissing: "A link of your own is needed", linkHow: "Please open the whole link that you were given, with everything behind the # sign. If it no longer works, ask the person who gave it to you for a new one.",
    offline: "No connection. {0} judgements are kept on this device and will be sent as soon as it is back: you can go on, and even close this page.", offline1: "No connection. 1 judgement is kept on this device and will be sent as soon as the connection is back: you can go on, and even close this page.",
    notStored: "Not stored: {0}",
    // judging
    first1: "Read the question, then the passage.", first2: "How well does the passage answer the question? Press one of the buttons, or the number on it. The next one comes by itself.", first3: "Made a mistake? u takes it back. In doubt? s puts it off, and ? opens the guidelines.", first3Touch: "Made a mistake, or in doubt? The buttons below take it back or put it off; the guidelines stand at the top.",
    passage: "Passage", yourGrade: "Your grade", evidence: "Marked as evidence", markThis: "Mark as evidence", unmark: "Click to remove the mark", unmarkThis: "Remove the mark: {0}",
    unusable: "Unusable", unusableHint: "Broken, unreadable, or no passage at all", later: "Later", laterHint: "Put it off: it comes again at the end", undo: "Undo", undoHint: "Take back what you said last", note: "Note", noteHint: "A note, if you like. It goes with your grade; Esc leaves it.", searchHere: "Search", searchHint: "Words that the answer should contain",
    kind_unusable: "unusable", kind_later: "later", takingBack: "Taking it back…", takenBack: "↶ Taken back: grade it again.",
    copies1: "The same text stands in one more place; your grade counts for it too.", copies: "The same text stands in {0} more places; your grade counts for them too.", aboutPassage: "About this passage", documentId: "id",
    judged: "{0} judged by you", ofPairs: "{0} in all", moreDecide: "about {0} more decide it", moreDecide1: "about 1 more decides it", short_decided: "decided: you may stop", short_undecided: "what is left cannot tell them apart", short_all: "nearly all of the rest is needed", mayStop: "You can stop here; going on makes the set richer.", aboutRange: "{0} to {1}",
    moved: "The documents were cut anew. Before that, the text below was judged for this question. Does the passage still say what it said? Grade the passage as it stands now.",
    onlyThis: "Only this question.", allQuestions: "All questions",
    noQuestionsHint: "A set begins with what people really ask. Write the first question; passages for it are suggested at once.", noQuestions: "There are no questions yet",
    noPairs: "No passages have been suggested yet", noPairsHint: "The search methods may still be at work, or none is set up. You can look for passages in your own words and judge what you find.",
    withOthers: "What is left is before other people right now", withOthersHint: "It comes here by itself if they leave it; you can also close this page, as the link stays good.",
    noMoreHere: "Nothing is left for this question", noMoreHereHint: "You have judged every passage that was suggested for it. More can be found by searching in your own words.",
    allDone: "Nothing is left for you to judge right now", allDoneHint: "Thank you. What others leave, or what is added, appears here by itself; you can also close this page, as the link stays good.",
    // search
    backToJudging: "← Back to judging", forQuestion: "For the question", chooseQuestion: "Choose a question", chooseQuestionFirst: "Choose first for which question.", ownWords: "Your own words", nothingFound: "Nothing found", nothingFoundHint: "Try other words: those that the text itself would use.", showAll: "Show the whole passage", youSaid: "You said:",
    // questions
    question: "Question", query_type: "Type", difficulty: "Difficulty", leak: "Word leak", judgedPairs: "Judged", laterPairs: "Put off", state: "State", state_open: "asked", state_dropped: "dropped", find: "Find", nQuestions: "{0} questions", nQuestions1: "1 question", noneOfThem: "None is like that.", moreRows: "Show {0} more",
    addQuestion: "Add a question", editQuestion: "Change the question", addHint: "As a person would ask it who has not read the text.", editHint: "Grades that were given stay with the question. If it asks something else now, drop it and write a new one.",
    unanswerable: "no answer in the documents", answerable: "Can the documents answer it?", answerableHint: "Questions without an answer show whether a system makes one up.", reference: "Model answer", referenceHint: "If there is one; shown to nobody who judges.", sources: "Made from", sourcesHint: "Ids of the passages that it was made from, one a line.", questionNoteHint: "What people should know who judge it.",
    store: "Store", edit: "Change", drop: "Drop", judgeThis: "Judge", added: "The question is added.", changed: "The question is changed.", dropped: "The question is dropped.", dropQuestion: "Drop this question?", dropHint: "It will not be asked any more and will not be in the next version. Nothing is deleted.", why: "Why", pairsOf: "{0} of {1}",
    leakMean: "On average {0} of a question's words stand in the text it was made from.", leakAbove: "That is above the target of {0}.", leakBelow: "That is within the target of {0}.", leakWhat: "The more words are copied, the easier it is for a search by words: questions in people's own words make a fairer test.", leakUnknown: "The word leak shows how many words of a question are copied from the text it was made from; no question here says what it was made from.",
    // conflicts
    conflictOf: "Conflict {0} of {1}", before: "The one before", after: "The next one", decide: "Your decision", decideHint: " settles it; what both have said is kept.", decisionNote: "Why, if you like", decidedAs: "Decided: {0}", noConflicts: "No conflicts", noConflictsHint: "Where two people grade the same passage differently, it is shown here to be decided.",
    // progress
    byYou: "judged by you", pairsJudged: "passages judged", questionsWithGold: "questions with an answer found", ofQuestions: "of {0}", openConflicts: "open conflicts", whatDecides: "What is left", agreement: "Do people agree?", noValue: "not said",
    moreDecideLong: "About {0} more grades decide which search method is best.", moreDecideLong1: "About 1 more grade decides which search method is best.", outcome_decided: "No grade that is left can change which search method is best.", outcome_undecided: "No grade that is left can tell the best search methods apart; more questions could.", outcome_all: "The best search methods are close: nearly all of the passages that are left are needed.", outcome_retrievers: "Fewer than two search methods are set up, so there is nothing to compare; questions without an answer come first.", outcome_answers: "The search methods are still at work, or one has failed.", outcome_questions: "Too few questions to say when it is decided: {0} are needed.", outcome_pairs: "Too few passages judged to say when it is decided: {0} are needed.",
    estimates: "What the random passages say", estimatesWhat: "From {0} of {1} pairs, drawn before anybody judged: only these stand for the whole.", estimateOf: "Of", estimateValue: "Estimate", estimateInterval: "95 % interval", estimateShare: "Suggested passages that are relevant", estimatePrecision: "{0}: precision", tooFew: "too few to tell",
    shareWords: "{0}; target {1}", target: "target {0}", nJudged: "{0} judged",
    agreeNone: "Nobody has graded the same passage as somebody else yet.", agreeSame: "On {0} passages everybody gave one and the same grade, so agreement cannot be measured yet.", agreeGood: "Yes: the grades can be relied on.", agreeFair: "Mostly: good enough for careful conclusions. A look at the conflicts and the guidelines helps.", agreePoor: "Not enough: people understand the grades differently. Talk about the conflicts, and make the guidelines clearer.",
    agreeFigures: "Krippendorff's alpha is {0} (1: they always agree; 0: as by chance), from {1} passages that two or more people graded, in {2} questions.", agreeInterval: "With so few, it may really lie anywhere from {0} to {1}.", agreeTooFew: "Too few to tell how sure that is.",
    // people
    people: "People", name: "Name", role: "Role", role_owner: "owner", role_annotator: "judges", role_file: "from a file", link: "Link", peopleHint: "Everybody gets a link of their own, and sees nobody else's grades. Whoever has a link can judge in that name: send it to that person alone.", addPerson: "Add", copy: "Copy", personAdded: "Added. Copy the link and send it.", copied: "Copied.", copyByHand: "The link is selected: copy it with Ctrl+C (⌘C).", takeAway: "Disable", takeAwayHint: "The link opens nothing any more; what the person said stays.", linkTaken: "The link opens nothing any more.", linkGone: "disabled", linkBack: "Enable again", linkOf: "Link of {0}",
    // releases
    releasesHint: "A release is a version of the set as a file that never changes: evaluations name the version that they used.", nextRelease: "The next: version {0}", wouldHold: "{0} questions with {1} passages that answer them.", sameRelease: "Nothing has changed since the last version.", changesSince: "Since {0}: {1} questions added, {2} changed, {3} dropped.", lacks: "What it lacks", lack_not_judged: "Questions left out: {0}, as nobody has judged a passage for them.", lack_nothing_relevant: "Questions left out: {0}, as no passage that was judged answers them. Go on, or say that the documents have no answer.", lack_undecided: "Questions left out: {0}, as people differ and nobody has decided.", lack_contradiction: "Questions left out: {0}, as they are said to have no answer, but a passage answers them.", lack_not_in_corpus: "Questions left out: {0}, as a passage that answers them is not in the corpus any more.", lack_broken: "Questions left out: {0}, as gold that came from a file contradicts what was judged.", lack_again: "{1} has {0} of these.", lack_disputed: "Passages left out: {0}, as people differ and nobody has decided.", lack_lowest: "Passages with the lowest of people's grades: {0}.", lack_moved: "Texts that answered before the documents were cut anew, and that nobody has found again yet: {0}.", lack_later: "Passages that were put off: {0}.", lack_missing: "{1} is not in the folder, so nothing is compared with it.", releaseNote: "What this version is for, if you like", allowUndecided: "Take in questions with open conflicts; the passages in dispute are left out", release: "Release", released: "Released: {0}", noReleases: "Nothing has been released yet.", noReleasesHint: "Releasing changes nothing here; people can go on judging.", version: "Version", made: "Made", file: "File", by: "By",
  },
  ko: {
    otherLanguage: "English", views: "화면", close: "닫기", cancel: "취소", again: "다시 시도", loading: "잠시만요…", more: "더 보기", all: "전체", yes: "예", no: "아니요", unknown: "모름", hidden: "눈에 보이지 않는 글자",
    view_judge: "판정", view_search: "검색", view_questions: "질문", view_progress: "진행", view_conflicts: "의견 차이", view_people: "참여자", view_releases: "배포",
    guidelines: "판정 지침", guidelinesKey: "단축키: ?", noGuidelines: "아직 작성된 지침이 없습니다.",
    didNotWork: "처리하지 못했습니다", noAnswer: "작업장에 연결되지 않습니다", noAnswerHow: "이 페이지 뒤의 프로그램이 응답하지 않습니다. 페이지가 스스로 다시 시도하며, 지금까지 판정한 내용은 사라지지 않습니다.", refused: "작업장이 요청을 거절했습니다(코드 {0}).", status_400: "입력한 내용을 확인해 주세요. ", status_403: "관리자만 할 수 있습니다. ", status_404: "찾을 수 없습니다. ", status_409: "그 사이에 바뀐 것이 있습니다. ", status_413: "내용이 너무 깁니다. ",
    error_name: "같은 이름을 쓰는 사람이 이미 있습니다. 서로 다른 이름을 써 주세요.", error_document: "이 id를 가진 글이 없습니다.", error_undo: "되돌릴 것이 없습니다.", error_dropped: "그 사이에 이 질문이 빠졌습니다.", error_text: "똑같은 질문이 이미 있습니다.", error_author: "질문은 쓴 사람과 관리자만 고칠 수 있습니다.", error_same: "지난 판 뒤로 바뀐 것이 없습니다.", error_ready: "판에 넣을 수 있는 질문이 아직 없습니다.", error_store: "저장소가 응답하지 않아 저장하지 못했습니다. 잠시 후 다시 시도해 주세요.", error_owner: "관리자만 할 수 있습니다.", error_mistake: "kragx의 오류입니다. 알려 주세요.",
    linkUnknown: "이 링크로는 작업장을 열 수 없습니다", linkMissing: "본인의 링크가 필요합니다", linkHow: "받으신 링크를 # 뒤까지 빠짐없이 열어 주세요. 더는 열리지 않으면 링크를 보낸 분에게 새 링크를 요청해 주세요.",
    offline: "연결이 끊겼습니다. 판정 {0}건을 이 기기에 보관하고 있으며, 다시 연결되는 대로 보냅니다. 계속 판정해도 되고 페이지를 닫아도 됩니다.", offline1: "연결이 끊겼습니다. 판정 1건을 이 기기에 보관하고 있으며, 다시 연결되는 대로 보냅니다. 계속 판정해도 되고 페이지를 닫아도 됩니다.",
    notStored: "저장하지 못했습니다: {0}",
    first1: "질문을 읽고, 이어서 글을 읽어 주세요.", first2: "이 글이 질문에 얼마나 답이 되나요? 버튼을 누르거나 버튼에 적힌 숫자를 누르면 다음 글이 바로 나옵니다.", first3: "잘못 눌렀다면 u로 되돌리고, 망설여지면 s로 미루세요. ?를 누르면 판정 지침이 나옵니다.", first3Touch: "잘못 눌렀거나 망설여지면 아래 버튼으로 되돌리거나 미루세요. 판정 지침은 위에 있습니다.",
    passage: "글", yourGrade: "등급", evidence: "근거로 표시한 부분", markThis: "근거로 표시", unmark: "누르면 표시가 지워집니다", unmarkThis: "표시 지우기: {0}",
    unusable: "사용 불가", unusableHint: "깨졌거나 읽을 수 없거나 글이 아님", later: "나중에", laterHint: "미루기: 마지막에 다시 나옵니다", undo: "되돌리기", undoHint: "방금 한 판정을 되돌립니다", note: "메모", noteHint: "원하면 메모를 남기세요. 등급과 함께 저장됩니다. Esc로 나갑니다.", searchHere: "검색", searchHint: "답에 들어 있을 만한 낱말",
    kind_unusable: "사용 불가", kind_later: "나중에", takingBack: "되돌리는 중…", takenBack: "↶ 되돌렸습니다. 다시 판정해 주세요.",
    copies1: "같은 글이 한 곳에 더 있으며, 그 글도 같은 등급을 받습니다.", copies: "같은 글이 {0}곳에 더 있으며, 그 글들도 같은 등급을 받습니다.", aboutPassage: "이 글의 정보", documentId: "id",
    judged: "내 판정 {0}건", ofPairs: "전체 {0}건", moreDecide: "약 {0}건 더 판정하면 결론이 납니다", moreDecide1: "약 1건 더 판정하면 결론이 납니다", short_decided: "결론이 났습니다. 멈춰도 됩니다", short_undecided: "남은 글로는 가릴 수 없습니다", short_all: "남은 글을 거의 다 판정해야 합니다", mayStop: "여기서 멈춰도 됩니다. 계속하면 정답 세트가 더 풍부해집니다.", aboutRange: "{0}~{1}",
    moved: "문서가 새로 나뉘었습니다. 그 전에는 아래 글이 이 질문에 대해 판정되었습니다. 지금 이 글에도 그 내용이 있나요? 지금 보이는 글에 등급을 매겨 주세요.",
    onlyThis: "이 질문만 판정합니다.", allQuestions: "모든 질문",
    noQuestionsHint: "사람들이 실제로 묻는 것에서 시작합니다. 첫 질문을 쓰면 알맞은 글이 바로 제안됩니다.", noQuestions: "아직 질문이 없습니다",
    noPairs: "아직 제안된 글이 없습니다", noPairsHint: "검색기가 아직 일하고 있거나, 설정된 검색기가 없습니다. 직접 낱말로 글을 찾아 판정할 수 있습니다.",
    withOthers: "남은 글은 지금 다른 사람이 보고 있습니다", withOthersHint: "그 사람이 남기면 여기에 저절로 나옵니다. 페이지를 닫고 나중에 같은 링크로 들어와도 됩니다.",
    noMoreHere: "이 질문은 다 판정했습니다", noMoreHereHint: "제안된 글을 모두 판정했습니다. 직접 낱말로 검색하면 더 찾을 수 있습니다.",
    allDone: "지금은 판정할 것이 남아 있지 않습니다", allDoneHint: "고맙습니다. 다른 사람이 남긴 것이나 새로 생긴 것은 여기에 저절로 나옵니다. 페이지를 닫고 나중에 같은 링크로 들어와도 됩니다.",
    backToJudging: "← 판정으로 돌아가기", forQuestion: "어느 질문에 대해", chooseQuestion: "질문을 고르세요", chooseQuestionFirst: "먼저 어느 질문에 대한 것인지 골라 주세요.", ownWords: "찾을 말", nothingFound: "찾은 글이 없습니다", nothingFoundHint: "글에 쓰였을 만한 다른 낱말로 찾아 보세요.", showAll: "글 전체 보기", youSaid: "내 판정:",
    question: "질문", query_type: "유형", difficulty: "난이도", leak: "낱말 겹침", judgedPairs: "판정", laterPairs: "미룸", state: "상태", state_open: "사용 중", state_dropped: "제외됨", find: "찾기", nQuestions: "질문 {0}개", nQuestions1: "질문 1개", noneOfThem: "해당하는 질문이 없습니다.", moreRows: "{0}개 더 보기",
    addQuestion: "질문 추가", editQuestion: "질문 고치기", addHint: "글을 읽지 않은 사람이 물을 법한 말로 써 주세요.", editHint: "이미 매긴 등급은 그대로 남습니다. 묻는 내용이 달라진다면 이 질문을 빼고 새로 써 주세요.",
    unanswerable: "문서에 답이 없음", answerable: "문서에 답이 있나요?", answerableHint: "답이 없는 질문은 시스템이 답을 지어내는지 보여 줍니다.", reference: "모범 답안", referenceHint: "있다면 적어 주세요. 판정하는 사람에게는 보이지 않습니다.", sources: "바탕이 된 글", sourcesHint: "질문의 바탕이 된 글의 id를 한 줄에 하나씩 적습니다.", questionNoteHint: "판정하는 사람이 알아야 할 것.",
    store: "저장", edit: "고치기", drop: "빼기", judgeThis: "판정", added: "질문을 추가했습니다.", changed: "질문을 고쳤습니다.", dropped: "질문을 뺐습니다.", dropQuestion: "이 질문을 뺄까요?", dropHint: "더는 묻지 않으며 다음 판에 들어가지 않습니다. 지워지는 것은 없습니다.", why: "이유", pairsOf: "{1}건 중 {0}건",
    leakMean: "질문에 쓰인 낱말 가운데 평균 {0}가 바탕이 된 글에 그대로 있습니다.", leakAbove: "목표 {0}보다 높습니다.", leakBelow: "목표 {0} 안에 있습니다.", leakWhat: "그대로 옮긴 낱말이 많을수록 낱말로 찾는 검색기에 유리합니다. 사람들이 실제로 쓰는 말로 물어야 공정한 시험이 됩니다.", leakUnknown: "낱말 겹침은 질문의 낱말이 바탕이 된 글에 얼마나 그대로 있는지 보여 줍니다. 바탕이 된 글을 밝힌 질문이 아직 없습니다.",
    conflictOf: "의견 차이 {1}건 중 {0}번째", before: "이전", after: "다음", decide: "내 결정", decideHint: "으로 정리됩니다. 두 사람의 판정은 그대로 남습니다.", decisionNote: "원하면 이유를 남기세요", decidedAs: "결정했습니다: {0}", noConflicts: "의견 차이가 없습니다", noConflictsHint: "두 사람이 같은 글에 서로 다른 등급을 매기면 여기에 나와 결정을 기다립니다.",
    byYou: "내 판정", pairsJudged: "판정한 글", questionsWithGold: "답을 찾은 질문", ofQuestions: "전체 {0}개", openConflicts: "남은 의견 차이", whatDecides: "남은 일", agreement: "사람들의 판정이 일치하나요?", noValue: "적지 않음",
    moreDecideLong: "약 {0}건 더 판정하면 어느 검색기가 나은지 결론이 납니다.", moreDecideLong1: "약 1건 더 판정하면 어느 검색기가 나은지 결론이 납니다.", outcome_decided: "남은 글에 어떤 등급을 매겨도 가장 좋은 검색기는 바뀌지 않습니다.", outcome_undecided: "남은 글에 어떤 등급을 매겨도 가장 좋은 검색기들을 가릴 수 없습니다. 질문을 늘리면 가릴 수 있습니다.", outcome_all: "가장 좋은 검색기들의 차이가 작아, 남은 글을 거의 다 판정해야 결론이 납니다.", outcome_retrievers: "설정된 검색기가 둘이 되지 않아 비교할 것이 없습니다. 답을 찾지 못한 질문부터 나옵니다.", outcome_answers: "검색기가 아직 일하고 있거나, 실패한 검색기가 있습니다.", outcome_questions: "언제 결론이 날지 말하기에는 질문이 적습니다. {0}개가 필요합니다.", outcome_pairs: "언제 결론이 날지 말하기에는 판정이 적습니다. {0}건이 필요합니다.",
    estimates: "무작위로 뽑은 글이 말하는 것", estimatesWhat: "아무도 판정하기 전에, 제안된 {1}쌍에서 뽑은 {0}쌍입니다. 전체를 대표하는 것은 이 글들뿐입니다.", estimateOf: "대상", estimateValue: "추정값", estimateInterval: "95 % 구간", estimateShare: "제안된 글 가운데 관련 있는 비율", estimatePrecision: "{0}: 정밀도", tooFew: "알기에는 너무 적음",
    shareWords: "{0}, 목표 {1}", target: "목표 {0}", nJudged: "판정 {0}건",
    agreeNone: "아직 두 사람이 함께 판정한 글이 없습니다.", agreeSame: "글 {0}건에 모두가 똑같은 등급 하나만 매겨, 아직 일치도를 잴 수 없습니다.", agreeGood: "예. 등급을 믿을 수 있습니다.", agreeFair: "대체로 그렇습니다. 조심스럽게 결론을 내릴 만합니다. 의견 차이와 판정 지침을 살펴보면 도움이 됩니다.", agreePoor: "부족합니다. 사람마다 등급을 다르게 이해하고 있습니다. 의견 차이를 함께 이야기하고 판정 지침을 다듬어 주세요.",
    agreeFigures: "두 사람 이상이 판정한 글 {1}건(질문 {2}개)에서 크리펜도르프 알파는 {0}입니다(1: 늘 일치, 0: 우연과 같음).", agreeInterval: "건수를 감안하면 실제 값은 {0}에서 {1} 사이일 수 있습니다.", agreeTooFew: "얼마나 확실한지 말하기에는 건수가 적습니다.",
    people: "참여자", name: "이름", role: "역할", role_owner: "관리자", role_annotator: "판정자", role_file: "파일", link: "링크", peopleHint: "사람마다 자기 링크를 받으며, 다른 사람의 등급은 보이지 않습니다. 링크를 가진 사람은 그 이름으로 판정할 수 있으니 본인에게만 보내 주세요.", addPerson: "추가", copy: "복사", personAdded: "추가했습니다. 링크를 복사해 보내 주세요.", copied: "복사했습니다.", copyByHand: "링크가 선택되었습니다. Ctrl+C(⌘C)로 복사하세요.", takeAway: "링크 끊기", takeAwayHint: "링크가 더는 열리지 않습니다. 그 사람의 판정은 남습니다.", linkTaken: "링크가 더는 열리지 않습니다.", linkGone: "끊긴 링크", linkBack: "다시 열기", linkOf: "{0}의 링크",
    releasesHint: "배포는 바뀌지 않는 파일로 남기는 한 판입니다. 평가 결과에는 어느 판을 썼는지 적힙니다.", nextRelease: "다음: {0}판", wouldHold: "질문 {0}개와 그 답이 되는 글 {1}건이 들어갑니다.", sameRelease: "지난 판 뒤로 바뀐 것이 없습니다.", changesSince: "{0} 뒤로 질문 추가 {1}개, 바뀜 {2}개, 빠짐 {3}개.", lacks: "모자란 것", lack_not_judged: "판정한 글이 하나도 없어 빠지는 질문: {0}개.", lack_nothing_relevant: "판정한 글 가운데 답이 없어 빠지는 질문: {0}개. 더 판정하거나, 문서에 답이 없는 질문이라고 표시해 주세요.", lack_undecided: "의견 차이가 정리되지 않아 빠지는 질문: {0}개.", lack_contradiction: "답이 없다고 표시했는데 답이 되는 글이 있어 빠지는 질문: {0}개.", lack_not_in_corpus: "답이 되는 글이 이제 문서에 없어 빠지는 질문: {0}개.", lack_broken: "파일에서 온 정답이 판정과 어긋나 빠지는 질문: {0}개.", lack_again: "이 가운데 {1}에는 있던 질문: {0}개.", lack_disputed: "의견 차이가 정리되지 않아 빠지는 글: {0}건.", lack_lowest: "사람들이 매긴 등급 중 낮은 쪽을 쓰는 글: {0}건.", lack_moved: "문서가 새로 나뉘기 전에는 답이었지만 아직 아무도 다시 찾지 못한 글: {0}건.", lack_later: "나중으로 미룬 글: {0}건.", lack_missing: "{1} 파일이 폴더에 없어 비교하지 못했습니다.", releaseNote: "원하면 이 판의 용도를 적어 주세요", allowUndecided: "의견 차이가 남은 질문도 넣기(다툼이 있는 글은 뺍니다)", release: "배포", released: "배포했습니다: {0}", noReleases: "아직 배포한 판이 없습니다.", noReleasesHint: "배포해도 여기서는 아무것도 바뀌지 않으며, 계속 판정할 수 있습니다.", version: "판", made: "만든 날", file: "파일", by: "만든 사람",
  },
};

export const languages = Object.keys(WORDS);
let language = "en";

export function setLanguage(chosen) {
  language = languages.includes(chosen) ? chosen : "en";
}

/** A word or sentence of the interface. */
export const t = (key, ...values) => WORDS[language][key].replace(/\{(\d)\}/g, (_, position) => (typeof values[position] === "number" ? grouped(values[position]) : values[position]));

/** How many more decide it: from the least to the most where that is known. */
function more(key, { about, low, high }) {
  if (low != null && high != null && low !== high) return t(key, t("aboutRange", low, high));
  return t(about === 1 ? `${key}1` : key, about);
}

/** How far the comparison is from being decided, in a few words; null while nothing is known. */
export const decidesShort = (decides) => (decides.outcome === "open" ? more("moreDecide", decides) : decides.state === "unknown" ? null : t(`short_${decides.outcome}`));

/** The same in a sentence. */
export const decidesWords = (decides) => (decides.outcome === "open" ? more("moreDecideLong", decides) : t(`outcome_${decides.outcome}`, decides.needed));

const grouped = (value) => new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value);
export const percent = (share) => new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 }).format(share);
export const decimal = (value) => new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
export const dayOf = (moment) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(moment));
