"""One HTML file that holds a whole comparison and needs nothing else.

`page` puts it together from template.html, style.css, the scripts and the values; `payload` makes
the values, from a cell for each matcher and retriever (`cells`) and the texts behind each question
(`questions`). The browser draws: script/metrics_table.js the tables of metrics and slices,
script/questions_table.js that of questions, script/question.js an opened one, script/figures.js the
figures, script/verdict.js and advice.js what the comparison says; every word stands in words.js.
"""
