from Cython.Build import cythonize
from setuptools import setup

setup(ext_modules=cythonize("consumer.pyx", language_level=3))
