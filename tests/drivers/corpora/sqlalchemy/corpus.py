"""SQLAlchemy as applications use it, over PyMySQL and over mysqlclient: models, reflection, text of every kind, JSON, bulk inserts, savepoints,
locking reads, upserts and statements of one's own."""
import os

from sqlalchemy import JSON, ForeignKey, MetaData, String, Text, create_engine, delete, func, inspect, select, text, update
from sqlalchemy.dialects.mysql import insert as upsert
from sqlalchemy.engine import URL
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

env = os.environ
T = env["TG_TABLE"]
TEXTS = ["plain", "it's \"quoted\" and `ticked`", "back\\slash\\", "\\'", "'; DROP TABLE x; -- ", "誠' OR 1=1 -- 誠\\", "縗乗表日本語", "🐬 naïve \\🐬'",
         "/* no comment */ # -- ", "%s %(name)s :name ?", "line\nbreak\r\ttab\0nul\x1a", ""]


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = f"{T}_author"
    __table_args__ = {"mysql_charset": "utf8mb4"}
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True, comment="it's a \\ name")
    data: Mapped[dict] = mapped_column(JSON)
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = f"{T}_book"
    __table_args__ = {"mysql_charset": "utf8mb4"}
    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey(Author.id))
    title: Mapped[str] = mapped_column(Text)
    author: Mapped[Author] = relationship(back_populates="books")


def same(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


def connect(engine):
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    reflected = MetaData()
    reflected.reflect(engine, only=[Author.__tablename__, Book.__tablename__])
    same(reflected.tables[Author.__tablename__].c.name.comment, "it's a \\ name")
    same([key["referred_table"] for key in inspect(engine).get_foreign_keys(Book.__tablename__)], [Author.__tablename__])


def texts(engine):
    with Session(engine) as session, session.begin():
        session.add_all(Author(name=f"{n} {value}", data={"text": value, "list": [1, None, value]},
                               books=[Book(title=value), Book(title=value * 50)]) for n, value in enumerate(TEXTS))
    with Session(engine) as session:
        for n, value in enumerate(TEXTS):
            author = session.scalars(select(Author).where(Author.name == f"{n} {value}")).one()
            same(author.data, {"text": value, "list": [1, None, value]})
            same([book.title for book in author.books], [value, value * 50])
            same(session.scalar(select(func.count()).select_from(Book).where(Book.title.in_([value]))), 1 if value else 2)
        same(session.scalar(select(Author.data["text"].as_string()).where(Author.id == 2)), TEXTS[1])


def many_rows(engine):
    with engine.begin() as connection:
        connection.execute(Book.__table__.insert(), [{"author_id": 1, "title": f"{n} {TEXTS[n % len(TEXTS)]}"} for n in range(5000)])
        same(connection.scalar(select(func.count()).select_from(Book).where(Book.author_id == 1)), 5002)
        streamed = connection.execution_options(stream_results=True).execute(select(Book.id, Book.title).order_by(Book.id))
        same(sum(1 for _ in streamed), 5000 + 2 * len(TEXTS))


def transaction(engine):
    with Session(engine) as session, session.begin():
        author = session.scalars(select(Author).where(Author.id == 1).with_for_update()).one()
        session.scalars(select(Book).where(Book.author_id == 1).with_for_update(skip_locked=True).limit(3)).all()
        author.data = {"changed": "it's"}
        for n in range(3):
            try:
                with session.begin_nested():
                    session.add(Author(name=author.name if n else "savepoint", data={}))
            except IntegrityError:
                same(n > 0, True)
        session.execute(update(Book).where(Book.author_id == 1, Book.title.like("%\\'%")).values(title=func.concat(Book.title, "!")))
    with Session(engine, autoflush=False) as session:
        session.execute(delete(Book).where(Book.author_id == 1))
        session.rollback()
        same(session.scalar(select(func.count()).select_from(Book)), 5000 + 2 * len(TEXTS))
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as connection:
        connection.execute(select(Author.id)).all()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        statement = upsert(Author).values(id=1, name="upserted \\ '縗'", data={})
        connection.execute(statement.on_duplicate_key_update(name=statement.inserted.name, data=func.json_object("a", "b'\\")))


def raw(engine):
    with engine.begin() as connection:
        same(connection.scalar(text("SELECT :a"), {"a": TEXTS[5]}), TEXTS[5])
        query = f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT SUM(i), COUNT(DISTINCT b.id) > 0 FROM n JOIN {T}_book b"
        connection.execute(text(query)).one()
        connection.execute(text(f"UPDATE {T}_book b JOIN {T}_author a ON a.id = b.author_id SET b.title = CONCAT(b.title, '\\'\\\\') WHERE a.id = 2"))
        connection.execute(text(f"INSERT INTO {T}_book (author_id, title) SELECT id, name FROM {T}_author /* copied, it's */ WHERE id <= 3"))
        connection.execute(text(f"CREATE TEMPORARY TABLE {T}_t AS SELECT * FROM {T}_book WHERE id < 10"))
        connection.execute(text(f"ALTER TABLE {T}_t ADD COLUMN c INT COMMENT '縗\\'', ADD INDEX (c)"))
        connection.execute(text(f"DROP TEMPORARY TABLE {T}_t"))
        connection.exec_driver_sql(f"SELECT * FROM {T}_book WHERE title LIKE '誠\\'%%' OR title = \"a\"\"b\" -- it's").all()


def quit(engine):
    Base.metadata.drop_all(engine)
    engine.dispose()


STEPS = [("connect", connect), ("text", texts), ("many_rows", many_rows), ("transaction", transaction), ("raw", raw), ("quit", quit)]
drivers = {"pymysql": dict(charset="utf8mb4", ssl_disabled=True), "mysqldb": dict(charset="utf8mb4", ssl_mode="DISABLED")}
for driver, options in drivers.items():
    url = URL.create(f"mysql+{driver}", env["TG_USER"], env["TG_PASSWORD"], env["TG_HOST"], int(env["TG_PORT"]), env["TG_DATABASE"])
    engine = create_engine(url, pool_size=2, pool_pre_ping=True, connect_args=options)
    for name, step in STEPS:
        step(engine)
        print("ok", f"{name}_{driver}", flush=True)
print("done")
