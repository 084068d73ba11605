from memfoil import tables, testbed
from memfoil.models import save_tokenizer
from memfoil.workflow import stage

with stage(snakemake) as job:
    splits = tables.SPLITS.read(job.input.splits)
    passages = tables.PASSAGES.read(job.input.passages)
    trained_on = splits.loc[splits.repetitions > 0, "passage_id"]
    texts = passages.loc[passages.passage_id.isin(trained_on), "text"]
    tokenizer = testbed.train_tokenizer(texts, job.params.vocabulary)
    corpus = testbed.corpus(splits, passages, tokenizer, job.params.seed)
    save_tokenizer(tokenizer, job.output.tokenizer)
    tables.CORPUS.write(corpus, job.output.corpus, job.provenance)
